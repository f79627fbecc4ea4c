package io.holdfast;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * What a caller asks a {@link LockService} for. Immutable; each method returns a new
 * request. What is not said is taken from the service's defaults.
 */
public final class LockRequest {

	private final String key;

	private final LockMode mode;

	private final @Nullable Duration waitTime;

	private final @Nullable Duration leaseTime;

	private final @Nullable Duration maxHold;

	private final boolean renewal;

	private final boolean reentrant;

	private LockRequest(String key, LockMode mode, @Nullable Duration waitTime, @Nullable Duration leaseTime,
			@Nullable Duration maxHold, boolean renewal, boolean reentrant) {
		this.key = key;
		this.mode = mode;
		this.waitTime = waitTime;
		this.leaseTime = leaseTime;
		this.maxHold = maxHold;
		this.renewal = renewal;
		this.reentrant = reentrant;
	}

	/**
	 * A request for a key, with the service's defaults.
	 * @param key what to lock; not blank, without control characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static LockRequest of(String key) {
		return new LockRequest(Requests.check("lock", key), LockMode.EXCLUSIVE, null, null, null, true, true);
	}

	/**
	 * Whether to lock alone, or as a reader or writer. All that lock a key should agree
	 * on either {@link LockMode#EXCLUSIVE EXCLUSIVE} or the other two.
	 * @param mode the mode; {@link LockMode#EXCLUSIVE EXCLUSIVE} by default
	 * @return the changed request
	 */
	public LockRequest mode(LockMode mode) {
		return new LockRequest(this.key, mode, this.waitTime, this.leaseTime, this.maxHold, this.renewal,
				this.reentrant);
	}

	/**
	 * How long to wait for the lock.
	 * @param waitTime the longest wait; zero tries once
	 * @return the changed request
	 * @throws IllegalArgumentException if it is negative
	 */
	public LockRequest waitTime(Duration waitTime) {
		Duration bounded = Requests.checkWait("waitTime of lock '" + this.key + "'", waitTime);
		return new LockRequest(this.key, this.mode, bounded, this.leaseTime, this.maxHold, this.renewal,
				this.reentrant);
	}

	/**
	 * Wait without limit.
	 * @return the changed request
	 */
	public LockRequest waitForever() {
		return waitTime(Requests.FOREVER);
	}

	/**
	 * How long the lease lasts when it is not renewed: the time that others wait at most
	 * if its holder dies.
	 * @param leaseTime from 100 ms to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public LockRequest leaseTime(Duration leaseTime) {
		Requests.checkBounds("leaseTime of lock '" + this.key + "'", leaseTime, Requests.MIN_LEASE, Requests.MAX_LEASE);
		return new LockRequest(this.key, this.mode, this.waitTime, leaseTime, this.maxHold, this.renewal,
				this.reentrant);
	}

	/**
	 * Whether the lease is renewed while it is held.
	 * @param renewal {@code true} (the default) to renew it until its release,
	 * {@code false} to let it end after its lease time
	 * @return the changed request
	 */
	public LockRequest renewal(boolean renewal) {
		return new LockRequest(this.key, this.mode, this.waitTime, this.leaseTime, this.maxHold, renewal,
				this.reentrant);
	}

	/**
	 * How long a renewed lease may be held in all: then its renewal stops and the lease
	 * ends with what is left of its lease time. A guard against holders that hang.
	 * @param maxHold the longest time, at least 100 ms
	 * @return the changed request
	 * @throws IllegalArgumentException if it is too short
	 */
	public LockRequest maxHold(Duration maxHold) {
		Requests.checkBounds("maxHold of lock '" + this.key + "'", maxHold, Requests.MIN_LEASE, Requests.FOREVER);
		return new LockRequest(this.key, this.mode, this.waitTime, this.leaseTime, maxHold, this.renewal,
				this.reentrant);
	}

	/**
	 * Whether a thread that holds the key already gets a nested lease at once.
	 * @param reentrant {@code true} (the default) for a nested lease, {@code false} to
	 * wait like a stranger
	 * @return the changed request
	 */
	public LockRequest reentrant(boolean reentrant) {
		return new LockRequest(this.key, this.mode, this.waitTime, this.leaseTime, this.maxHold, this.renewal,
				reentrant);
	}

	/**
	 * What to lock.
	 * @return the key
	 */
	public String key() {
		return this.key;
	}

	/**
	 * How to lock it.
	 * @return the mode
	 */
	public LockMode mode() {
		return this.mode;
	}

	/**
	 * How long to wait.
	 * @return the longest wait, or {@code null} for the service's default
	 */
	public @Nullable Duration waitTime() {
		return this.waitTime;
	}

	/**
	 * How long the lease lasts when it is not renewed.
	 * @return the lease time, or {@code null} for the service's default
	 */
	public @Nullable Duration leaseTime() {
		return this.leaseTime;
	}

	/**
	 * How long a renewed lease may be held in all.
	 * @return the longest time, or {@code null} for the service's default
	 */
	public @Nullable Duration maxHold() {
		return this.maxHold;
	}

	/**
	 * Whether the lease is renewed while it is held.
	 * @return whether it is
	 */
	public boolean isRenewal() {
		return this.renewal;
	}

	/**
	 * Whether a thread that holds the key already gets a nested lease at once.
	 * @return whether it does
	 */
	public boolean isReentrant() {
		return this.reentrant;
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof LockRequest that && this.key.equals(that.key) && this.mode == that.mode
				&& Objects.equals(this.waitTime, that.waitTime) && Objects.equals(this.leaseTime, that.leaseTime)
				&& Objects.equals(this.maxHold, that.maxHold) && this.renewal == that.renewal
				&& this.reentrant == that.reentrant;
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.key, this.mode, this.waitTime, this.leaseTime, this.maxHold, this.renewal,
				this.reentrant);
	}

	@Override
	public String toString() {
		return "LockRequest[" + this.key + ", mode=" + this.mode + ", waitTime="
				+ (Requests.FOREVER.equals(this.waitTime) ? "forever" : this.waitTime) + ", leaseTime=" + this.leaseTime
				+ ", maxHold=" + this.maxHold + ", renewal=" + this.renewal + ", reentrant=" + this.reentrant + "]";
	}

}
