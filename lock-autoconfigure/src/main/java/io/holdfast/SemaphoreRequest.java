package io.holdfast;

import java.time.Duration;
import java.util.Objects;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * A request to a {@link SemaphoreService}. Immutable: each setter returns a new request.
 * The service's defaults apply to options that are not set.
 *
 * @since 0.1.0
 */
public final class SemaphoreRequest extends LeaseRequest<SemaphoreRequest> {

	private static final int MAX_LIMIT = 1_000_000_000;

	private static final int OPERATORS_LIMIT = 0;

	private final String key;

	private final int limit;

	private final int permits;

	private final @Nullable Boolean fair;

	private SemaphoreRequest(String key, int limit, int permits, @Nullable Boolean fair, LeaseOptions options) {
		super(options);
		this.key = key;
		this.limit = limit;
		this.permits = permits;
		this.fair = fair;
	}

	/**
	 * Return a request for one permit, with the service's defaults.
	 * @param key the key of the semaphore; not blank, without control characters
	 * @param limit the limit of the semaphore, from 1 to 1,000,000,000, unless an
	 * operator has set another limit
	 * @return the request
	 * @throws IllegalArgumentException if the key or the limit is not allowed
	 */
	public static SemaphoreRequest of(String key, int limit) {
		checkKey("semaphore", key);
		checkBounds("limit of semaphore '" + key + "'", limit, 1, MAX_LIMIT);
		return new SemaphoreRequest(key, limit, 1, null, LeaseOptions.DEFAULTS);
	}

	/**
	 * Return a request for one permit of a semaphore whose limit an operator
	 * {@linkplain SemaphoreAdmin#setLimit has set}, with the service's defaults. Without
	 * an operator's limit, the request is refused at once with the reason
	 * {@link NotAcquiredException.Reason#EXCEEDS_LIMIT EXCEEDS_LIMIT}.
	 * @param key the key of the semaphore; not blank, without control characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static SemaphoreRequest of(String key) {
		return new SemaphoreRequest(checkKey("semaphore", key), OPERATORS_LIMIT, 1, null, LeaseOptions.DEFAULTS);
	}

	@Override
	public SemaphoreRequest only(String key) {
		return new SemaphoreRequest(inNamespace(this.options, "semaphore", key), this.limit, this.permits, this.fair,
				this.options);
	}

	@Override
	public SemaphoreRequest namespace(String namespace) {
		LeaseOptions changed = withNamespace(namespace);
		return new SemaphoreRequest(inNamespace(changed, "semaphore", this.key), this.limit, this.permits, this.fair,
				changed);
	}

	/**
	 * Set the number of permits to acquire. All permits or none are acquired.
	 * @param permits the number of permits, from 1 to 1,000,000,000. A number above the
	 * limit is refused only by the acquisition, because an operator may have raised the
	 * limit
	 * @return the changed request
	 * @throws IllegalArgumentException if the number is out of these bounds
	 */
	public SemaphoreRequest permits(int permits) {
		checkBounds("permits" + ofText(), permits, 1, MAX_LIMIT);
		return new SemaphoreRequest(this.key, this.limit, permits, this.fair, this.options);
	}

	/**
	 * Set the minimum time for which the permits are taken, even if the lease is released
	 * sooner. It makes the semaphore a rate limit as well as a limit on concurrency. No
	 * caller waits for this time: the release returns at once, and takes effect when the
	 * time is over. Applies to code that fails, too.
	 * @param minHold the minimum time, from 0 (the default) to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if the time is out of these bounds
	 */
	@Override
	public SemaphoreRequest minHold(Duration minHold) {
		return withMinHold(minHold);
	}

	/**
	 * Set whether requests are served in order of arrival.
	 * @param fair {@code true} (the default) to get permits only when no earlier request
	 * waits; between instances, the order is approximate, because instances take turns.
	 * {@code false} to overtake all waiting requests if enough permits are free for this
	 * request. A waiting request for many permits can then starve. An unfair request
	 * never gets permits by local hand-over
	 * @return the changed request
	 */
	public SemaphoreRequest fair(boolean fair) {
		return new SemaphoreRequest(this.key, this.limit, this.permits, fair, this.options);
	}

	@Override
	SemaphoreRequest with(LeaseOptions changed) {
		return new SemaphoreRequest(this.key, this.limit, this.permits, this.fair, changed);
	}

	@Override
	String ofText() {
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
	 * Return the limit of the semaphore, unless an operator has set another limit.
	 * @return the limit; 0 if only an operator's limit applies
	 */
	public int limit() {
		return this.limit;
	}

	/**
	 * Return the number of permits to acquire.
	 * @return the number of permits
	 */
	public int permits() {
		return this.permits;
	}

	/**
	 * Return whether requests are served in order of arrival.
	 * @return whether the request is fair, or {@code null} for the service's default
	 */
	public @Nullable Boolean fair() {
		return this.fair;
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof SemaphoreRequest that && this.key.equals(that.key) && this.limit == that.limit
				&& this.permits == that.permits && Objects.equals(this.fair, that.fair)
				&& this.options.equals(that.options);
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.key, this.limit, this.permits, this.fair, this.options);
	}

	@Override
	public String toString() {
		return "SemaphoreRequest[" + SingleLine.of(this.key) + ", limit="
				+ ((this.limit != OPERATORS_LIMIT) ? this.limit : "operator's") + ", permits=" + this.permits + ", "
				+ this.options + ", fair=" + this.fair + "]";
	}

}
