package io.holdfast;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * What a caller asks a {@link SemaphoreService} for. Immutable; each method returns a new
 * request. What is not said is taken from the service's defaults.
 */
public final class SemaphoreRequest {

	private static final int MAX_LIMIT = 1_000_000_000;

	private final String key;

	private final int limit;

	private final int permits;

	private final @Nullable Duration waitTime;

	private final @Nullable Duration leaseTime;

	private final @Nullable Duration maxHold;

	private final boolean renewal;

	private final @Nullable Boolean fair;

	private SemaphoreRequest(String key, int limit, int permits, @Nullable Duration waitTime,
			@Nullable Duration leaseTime, @Nullable Duration maxHold, boolean renewal, @Nullable Boolean fair) {
		this.key = key;
		this.limit = limit;
		this.permits = permits;
		this.waitTime = waitTime;
		this.leaseTime = leaseTime;
		this.maxHold = maxHold;
		this.renewal = renewal;
		this.fair = fair;
	}

	/**
	 * A request for one permit, with the service's defaults.
	 * @param key which semaphore; not blank, without control characters
	 * @param limit how many permits it has in all, from 1 to 1,000,000,000, unless an
	 * operator has set another limit
	 * @return the request
	 * @throws IllegalArgumentException if the key or the limit is not allowed
	 */
	public static SemaphoreRequest of(String key, int limit) {
		Requests.check("semaphore", key);
		Requests.checkCount("limit of semaphore '" + key + "'", limit, 1, MAX_LIMIT);
		return new SemaphoreRequest(key, limit, 1, null, null, null, true, null);
	}

	/**
	 * How many permits to acquire, all at once.
	 * @param permits from 1 to 1,000,000,000. More than there are in all are refused when
	 * they are asked for, since an operator may have raised the limit
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public SemaphoreRequest permits(int permits) {
		Requests.checkCount("permits" + of(), permits, 1, MAX_LIMIT);
		return new SemaphoreRequest(this.key, this.limit, permits, this.waitTime, this.leaseTime, this.maxHold,
				this.renewal, this.fair);
	}

	/**
	 * How long to wait for the permits. By default ({@code holdfast.semaphore.wait-time})
	 * there is no waiting.
	 * @param waitTime the longest wait; zero tries once
	 * @return the changed request
	 * @throws IllegalArgumentException if it is negative
	 */
	public SemaphoreRequest waitTime(Duration waitTime) {
		Duration bounded = Requests.checkWait("waitTime" + of(), waitTime);
		return new SemaphoreRequest(this.key, this.limit, this.permits, bounded, this.leaseTime, this.maxHold,
				this.renewal, this.fair);
	}

	/**
	 * Wait without limit.
	 * @return the changed request
	 */
	public SemaphoreRequest waitForever() {
		return waitTime(Requests.FOREVER);
	}

	/**
	 * How long the lease lasts when it is not renewed: the time after which the permits
	 * come back if their holder dies.
	 * @param leaseTime from 100 ms to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public SemaphoreRequest leaseTime(Duration leaseTime) {
		Requests.checkBounds("leaseTime" + of(), leaseTime, Requests.MIN_LEASE, Requests.MAX_LEASE);
		return new SemaphoreRequest(this.key, this.limit, this.permits, this.waitTime, leaseTime, this.maxHold,
				this.renewal, this.fair);
	}

	/**
	 * Whether the lease is renewed while it is held.
	 * @param renewal {@code true} (the default) to renew it until its release,
	 * {@code false} to let it end after its lease time
	 * @return the changed request
	 */
	public SemaphoreRequest renewal(boolean renewal) {
		return new SemaphoreRequest(this.key, this.limit, this.permits, this.waitTime, this.leaseTime, this.maxHold,
				renewal, this.fair);
	}

	/**
	 * How long a renewed lease may be held in all: then its renewal stops and the lease
	 * ends with what is left of its lease time. A guard against holders that hang.
	 * @param maxHold the longest time, at least 100 ms
	 * @return the changed request
	 * @throws IllegalArgumentException if it is too short
	 */
	public SemaphoreRequest maxHold(Duration maxHold) {
		Requests.checkBounds("maxHold" + of(), maxHold, Requests.MIN_LEASE, Requests.FOREVER);
		return new SemaphoreRequest(this.key, this.limit, this.permits, this.waitTime, this.leaseTime, maxHold,
				this.renewal, this.fair);
	}

	/**
	 * Whether to stand in line.
	 * @param fair {@code true} (the default) to be granted permits only when nobody waits
	 * before; {@code false} to pass everybody who waits if enough permits are free for
	 * this request. Requests for many permits can starve while others pass them
	 * @return the changed request
	 */
	public SemaphoreRequest fair(boolean fair) {
		return new SemaphoreRequest(this.key, this.limit, this.permits, this.waitTime, this.leaseTime, this.maxHold,
				this.renewal, fair);
	}

	private String of() {
		return " of semaphore '" + this.key + "'";
	}

	/**
	 * Which semaphore.
	 * @return the key
	 */
	public String key() {
		return this.key;
	}

	/**
	 * How many permits it has in all, unless an operator has set another limit.
	 * @return the limit
	 */
	public int limit() {
		return this.limit;
	}

	/**
	 * How many permits to acquire.
	 * @return the number of permits
	 */
	public int permits() {
		return this.permits;
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
	 * Whether to stand in line.
	 * @return whether it is fair, or {@code null} for the service's default
	 */
	public @Nullable Boolean fair() {
		return this.fair;
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof SemaphoreRequest that && this.key.equals(that.key) && this.limit == that.limit
				&& this.permits == that.permits && Objects.equals(this.waitTime, that.waitTime)
				&& Objects.equals(this.leaseTime, that.leaseTime) && Objects.equals(this.maxHold, that.maxHold)
				&& this.renewal == that.renewal && Objects.equals(this.fair, that.fair);
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.key, this.limit, this.permits, this.waitTime, this.leaseTime, this.maxHold,
				this.renewal, this.fair);
	}

	@Override
	public String toString() {
		return "SemaphoreRequest[" + this.key + ", limit=" + this.limit + ", permits=" + this.permits + ", waitTime="
				+ (Requests.FOREVER.equals(this.waitTime) ? "forever" : this.waitTime) + ", leaseTime=" + this.leaseTime
				+ ", maxHold=" + this.maxHold + ", renewal=" + this.renewal + ", fair=" + this.fair + "]";
	}

}
