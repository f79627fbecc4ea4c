package io.holdfast;

import java.time.Duration;
import java.util.List;

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

	private SemaphoreRequest(List<String> key, LeaseOptions options) {
		super(key, options);
	}

	/**
	 * Return a request for one permit, with the service's defaults.
	 * @param key the key of the semaphore; of 1 to 1,024 characters, not blank, without
	 * control characters
	 * @param limit the limit of the semaphore, from 1 to 1,000,000,000, unless an
	 * operator has set another limit
	 * @return the request
	 * @throws IllegalArgumentException if the key or the limit is not allowed
	 */
	public static SemaphoreRequest of(String key, int limit) {
		SemaphoreRequest request = of(key);
		checkBounds("limit" + request.ofText(), limit, 1, MAX_LIMIT);
		return request.changed((options) -> options.limit = limit);
	}

	/**
	 * Return a request for one permit of a semaphore whose limit an operator
	 * {@linkplain SemaphoreAdmin#setLimit has set}, with the service's defaults. Without
	 * an operator's limit, the request is refused at once with the reason
	 * {@link NotAcquiredException.Reason#EXCEEDS_LIMIT EXCEEDS_LIMIT}.
	 * @param key the key of the semaphore; of 1 to 1,024 characters, not blank, without
	 * control characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static SemaphoreRequest of(String key) {
		return new SemaphoreRequest(List.of(checkKey("semaphore", key)), LeaseOptions.DEFAULTS);
	}

	@Override
	SemaphoreRequest with(List<String> keys, LeaseOptions options) {
		return new SemaphoreRequest(keys, options);
	}

	@Override
	String kind() {
		return "semaphore";
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
		return changed((options) -> options.permits = permits);
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
		return super.minHold(minHold);
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
		return changed((options) -> options.fair = fair);
	}

	/**
	 * Return the key of the semaphore.
	 * @return the key
	 */
	@Override
	public String key() {
		return this.keys.get(0);
	}

	/**
	 * Return the limit of the semaphore, unless an operator has set another limit.
	 * @return the limit; 0 if only an operator's limit applies
	 */
	public int limit() {
		return this.options.limit;
	}

	/**
	 * Return the number of permits to acquire.
	 * @return the number of permits
	 */
	public int permits() {
		return this.options.permits;
	}

	/**
	 * Return whether requests are served in order of arrival.
	 * @return whether the request is fair, or {@code null} for the service's default
	 */
	public @Nullable Boolean fair() {
		return this.options.fair;
	}

	@Override
	public String toString() {
		return "SemaphoreRequest[" + SingleLine.of(key()) + ", limit=" + ((limit() > 0) ? limit() : "operator's")
				+ ", permits=" + permits() + ", " + this.options + ", fair=" + fair() + "]";
	}

}
