package io.holdfast;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * A request to a {@link SemaphoreService}. Immutable; each method returns a new request.
 * What is not said is taken from the service's defaults.
 *
 * @since 0.1.0
 */
public final class SemaphoreRequest {

	private static final int MAX_LIMIT = 1_000_000_000;

	private static final int OPERATORS_LIMIT = 0;

	private final String key;

	private final int limit;

	private final int permits;

	private final LeaseOptions options;

	private SemaphoreRequest(String key, int limit, int permits, LeaseOptions options) {
		this.key = key;
		this.limit = limit;
		this.permits = permits;
		this.options = options;
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
		RequestChecks.check("semaphore", key);
		RequestChecks.checkCount("limit of semaphore '" + key + "'", limit, 1, MAX_LIMIT);
		return new SemaphoreRequest(key, limit, 1, LeaseOptions.DEFAULTS);
	}

	/**
	 * Return a request for one permit of a semaphore whose limit an operator
	 * {@linkplain SemaphoreAdmin#setLimit has set}, with the service's defaults. While
	 * none is set, it is refused at once as
	 * {@link NotAcquiredException.Reason#EXCEEDS_LIMIT EXCEEDS_LIMIT}.
	 * @param key which semaphore; not blank, without control characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static SemaphoreRequest of(String key) {
		return new SemaphoreRequest(RequestChecks.check("semaphore", key), OPERATORS_LIMIT, 1, LeaseOptions.DEFAULTS);
	}

	/**
	 * Return the same request for another semaphore.
	 * @param key which semaphore
	 * @return the request, as this one otherwise
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public SemaphoreRequest only(String key) {
		return new SemaphoreRequest(this.options.inNamespace("semaphore", key), this.limit, this.permits, this.options);
	}

	/**
	 * Set the namespace of the key, in place of the {@linkplain KeyNamespace
	 * application's}: for threads that know nothing of that, and for semaphores that all
	 * namespaces share.
	 * @param namespace what comes before the key, with a colon, and has none itself;
	 * empty for none
	 * @return the changed request, which has the whole key
	 * @throws IllegalArgumentException if the key is not allowed in it
	 * @throws IllegalStateException if it has a namespace already
	 */
	public SemaphoreRequest namespace(String namespace) {
		LeaseOptions changed = this.options.withNamespace(of(), namespace);
		return new SemaphoreRequest(changed.inNamespace("semaphore", this.key), this.limit, this.permits, changed);
	}

	/**
	 * Set how many permits to acquire, all at once.
	 * @param permits from 1 to 1,000,000,000. More than there are in all are refused when
	 * they are asked for, since an operator may have raised the limit
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public SemaphoreRequest permits(int permits) {
		RequestChecks.checkCount("permits" + of(), permits, 1, MAX_LIMIT);
		return new SemaphoreRequest(this.key, this.limit, permits, this.options);
	}

	/**
	 * Set how long to wait for the permits. If nothing is said, calls that {@code try} do
	 * not wait, nor do the others, unless {@code holdfast.semaphore.wait-time} is set.
	 * @param waitTime the longest wait; zero tries once
	 * @return the changed request
	 * @throws IllegalArgumentException if it is negative
	 */
	public SemaphoreRequest waitTime(Duration waitTime) {
		return with(this.options.withWaitTime(of(), waitTime));
	}

	/**
	 * Wait without limit.
	 * @return the changed request
	 */
	public SemaphoreRequest waitForever() {
		return waitTime(RequestChecks.FOREVER);
	}

	/**
	 * Set how long the lease lasts when it is not renewed: the time after which the
	 * permits come back if their holder dies.
	 * @param leaseTime from 100 ms to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public SemaphoreRequest leaseTime(Duration leaseTime) {
		return with(this.options.withLeaseTime(of(), leaseTime));
	}

	/**
	 * Set whether the lease is renewed while it is held.
	 * @param autoRenew {@code true} (the default) to renew it until its release,
	 * {@code false} to let it end after its lease time
	 * @return the changed request
	 */
	public SemaphoreRequest autoRenew(boolean autoRenew) {
		return with(this.options.withAutoRenew(autoRenew));
	}

	/**
	 * Set how long a renewed lease may be held in all: then its renewal stops and the
	 * lease ends with what is left of its lease time; a longer default lease time is
	 * shortened to it. A guard against holders that hang.
	 * @param maxHold the longest time, at least 100 ms
	 * @return the changed request
	 * @throws IllegalArgumentException if it is too short
	 */
	public SemaphoreRequest maxHold(Duration maxHold) {
		return with(this.options.withMaxHold(of(), maxHold));
	}

	/**
	 * Set how long the permits are kept back at least, even if the lease is released
	 * sooner: with it a semaphore bounds how often something is done, not only how much
	 * of it at once. No caller waits for that time to pass; the release only takes effect
	 * when it is over.
	 * @param minHold the shortest time, from 0 (the default) to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public SemaphoreRequest minHold(Duration minHold) {
		return with(this.options.withMinHold(of(), minHold));
	}

	/**
	 * Set the kind of semaphore, for {@linkplain LeaseLostEvent events} and meters: one
	 * of few names, unlike the key.
	 * @param name the name, not blank
	 * @return the changed request
	 * @throws IllegalArgumentException if it is blank
	 */
	public SemaphoreRequest name(String name) {
		return with(this.options.withName(of(), name));
	}

	/**
	 * Set whether to stand in line.
	 * @param fair {@code true} (the default) to be granted permits only when no other
	 * request waits before, where instances may take turns; {@code false} to pass all
	 * requests that wait if enough permits are free for this request, also one whose
	 * thread is waking up for them: faster under load. Requests for many permits can
	 * starve while others pass them
	 * @return the changed request
	 */
	public SemaphoreRequest fair(boolean fair) {
		return with(this.options.withFair(fair));
	}

	private SemaphoreRequest with(LeaseOptions changed) {
		return new SemaphoreRequest(this.key, this.limit, this.permits, changed);
	}

	private String of() {
		return " of semaphore '" + this.key + "'";
	}

	/**
	 * Return the key of the semaphore.
	 * @return the key
	 */
	public String key() {
		return this.key;
	}

	/**
	 * Return how many permits it has in all, unless an operator has set another limit.
	 * @return the limit; 0 if only an operator's counts
	 */
	public int limit() {
		return this.limit;
	}

	/**
	 * Return how many permits to acquire.
	 * @return the number of permits
	 */
	public int permits() {
		return this.permits;
	}

	/**
	 * Return how long to wait.
	 * @return the longest wait, or {@code null} for the service's default
	 */
	public @Nullable Duration waitTime() {
		return this.options.waitTime();
	}

	/**
	 * Return how long the lease lasts when it is not renewed.
	 * @return the lease time, or {@code null} for the service's default
	 */
	public @Nullable Duration leaseTime() {
		return this.options.leaseTime();
	}

	/**
	 * Return how long a renewed lease may be held in all.
	 * @return the longest time, or {@code null} for the service's default
	 */
	public @Nullable Duration maxHold() {
		return this.options.maxHold();
	}

	/**
	 * Return whether the lease is renewed while it is held.
	 * @return whether it is
	 */
	public boolean isAutoRenew() {
		return this.options.autoRenew();
	}

	/**
	 * Return whether to stand in line.
	 * @return whether it is fair, or {@code null} for the service's default
	 */
	public @Nullable Boolean fair() {
		return this.options.fair();
	}

	/**
	 * Return how long the permits are kept back at least.
	 * @return the shortest time, zero by default
	 */
	public Duration minHold() {
		return this.options.minHold();
	}

	/**
	 * Return what kind of semaphore it is.
	 * @return the name, or {@code null}
	 */
	public @Nullable String name() {
		return this.options.name();
	}

	/**
	 * Return the namespace that the key is in.
	 * @return the namespace, empty for none, or {@code null} for the application's, which
	 * the key does not have yet
	 */
	public @Nullable String namespace() {
		return this.options.namespace();
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof SemaphoreRequest that && this.key.equals(that.key) && this.limit == that.limit
				&& this.permits == that.permits && this.options.equals(that.options);
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.key, this.limit, this.permits, this.options);
	}

	@Override
	public String toString() {
		return "SemaphoreRequest[" + this.key + ", limit="
				+ ((this.limit != OPERATORS_LIMIT) ? this.limit : "operator's") + ", permits=" + this.permits + ", "
				+ this.options + "]";
	}

}
