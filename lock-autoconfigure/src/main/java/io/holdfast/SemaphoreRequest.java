package io.holdfast;

import java.time.Duration;
import java.util.Objects;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * A request to a {@link SemaphoreService}. Immutable; each method returns a new request.
 * The service's defaults fill the gaps.
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
	 * A request for one permit, with the service's defaults.
	 * @param key which semaphore; not blank, without control characters
	 * @param limit how many permits it has in all, from 1 to 1,000,000,000, unless an
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
	 * {@linkplain SemaphoreAdmin#setLimit has set}, with the service's defaults. While
	 * none is set, it is refused at once as
	 * {@link NotAcquiredException.Reason#EXCEEDS_LIMIT EXCEEDS_LIMIT}.
	 * @param key which semaphore; not blank, without control characters
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
	 * Set how many permits to acquire, all at once.
	 * @param permits from 1 to 1,000,000,000. More than there are in all are refused when
	 * they are asked for, since an operator may have raised the limit
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public SemaphoreRequest permits(int permits) {
		checkBounds("permits" + of(), permits, 1, MAX_LIMIT);
		return new SemaphoreRequest(this.key, this.limit, permits, this.fair, this.options);
	}

	/**
	 * Set how long the permits are kept back at least, even if the lease is released
	 * sooner: with it a semaphore bounds how often something is done, not only how much
	 * of it at once. No caller waits for that time to pass; the release only takes effect
	 * when it is over, however the code with the permits ends.
	 * @param minHold the shortest time, from 0 (the default) to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	@Override
	public SemaphoreRequest minHold(Duration minHold) {
		return withMinHold(minHold);
	}

	/**
	 * Set whether requests are served in their order.
	 * @param fair {@code true} (the default) to be granted permits only when no other
	 * request waits before, where instances may take turns; {@code false} to pass all
	 * requests that wait if enough permits are free for this request. Requests for many
	 * permits can starve while others pass them. Local hand-over passes nothing on to an
	 * unfair request
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
	String of() {
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
	 * Return whether requests are served in their order.
	 * @return whether it is fair, or {@code null} for the service's default
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
