package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when permits were not acquired, for a reason other than a failure of the store.
 * Not enough permits were free for the whole wait time, the waiting thread was
 * interrupted, the request is for more permits than the limit, too many requests wait
 * already, or this instance is shutting down.
 *
 * @since 0.1.0
 */
public class PermitNotAcquiredException extends NotAcquiredException {

	private static final long serialVersionUID = 1L;

	private static final String LONGER_WAIT = ". To wait longer, give a waitTime, or set holdfast.semaphore.wait-time, "
			+ "which is 0 by default";

	/** Number of requested permits. */
	private final int permits;

	/**
	 * Create the exception.
	 * @param key the semaphore's key as its user named it
	 * @param permits the number of requested permits
	 * @param limit the limit of the semaphore, or -1 if the request has no limit and the
	 * operator's limit is unknown
	 * @param reason the reason of the failure
	 * @param waited the time that the caller waited
	 * @param cause the interrupt of the wait, or {@code null}
	 */
	public PermitNotAcquiredException(String key, int permits, int limit, Reason reason, Duration waited,
			@Nullable Throwable cause) {
		this(key, permits, limit, reason, waited, cause, text(reason, limit));
	}

	/**
	 * Create the exception for a wait that timed out.
	 * @param key the semaphore's key as its user named it
	 * @param permits the number of requested permits
	 * @param limit the limit of the semaphore
	 * @param used the number of permits in use
	 * @param waited the time that the caller waited
	 */
	public PermitNotAcquiredException(String key, int permits, int limit, int used, Duration waited) {
		this(key, permits, limit, Reason.TIMED_OUT, waited, null,
				(((long) used + permits > limit) ? "not enough of them were free" : "others came first") + " (" + used
						+ " of " + limit + " in use)" + LONGER_WAIT);
	}

	/**
	 * Create the exception for a wait that timed out for another reason.
	 * @param key the semaphore's key as its user named it
	 * @param permits the number of requested permits
	 * @param limit the limit of the semaphore
	 * @param waited the time that the caller waited
	 * @param why the reason as it appears in the message
	 */
	public PermitNotAcquiredException(String key, int permits, int limit, Duration waited, String why) {
		this(key, permits, limit, Reason.TIMED_OUT, waited, null, why);
	}

	private PermitNotAcquiredException(String key, int permits, int limit, Reason reason, Duration waited,
			@Nullable Throwable cause, String why) {
		super(key, ((permits == 1) ? "A permit" : permits + " permits") + " of semaphore '" + key + "' ("
				+ ((limit >= 0) ? "limit " + limit : "the operator's limit") + ") " + ((permits == 1) ? "was" : "were")
				+ " not acquired after " + waited.toMillis() + " ms: " + why, reason, waited, cause);
		this.permits = permits;
	}

	private static String text(Reason reason, int limit) {
		return switch (reason) {
			case TIMED_OUT -> "not enough of them were free, or others came first" + LONGER_WAIT;
			case INTERRUPTED -> "interrupted";
			case SHUTDOWN -> "this instance is shutting down";
			case EXCEEDS_LIMIT -> (limit < 0)
					? "the request has no limit of its own, and no operator has set one above 0 (set one by"
							+ " SemaphoreService.admin().setLimit, or name one by SemaphoreRequest.of(key, limit);"
							+ " a limit of 0 stops all requests)"
					: "there are fewer permits in all (request fewer, or raise the limit;"
							+ " an operator may have set it: see setLimit and clearLimit)";
			case TOO_MANY_WAITERS -> tooManyWaiters();
			case SELF_BLOCKED -> throw new IllegalArgumentException("A semaphore has no modes");
		};
	}

	/**
	 * Return the number of requested permits.
	 * @return the number of permits
	 */
	public int getPermits() {
		return this.permits;
	}

}
