package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a lock or permits were not acquired, for a reason other than a failure of
 * the store.
 *
 * @since 0.1.0
 */
public abstract class NotAcquiredException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	private final Reason reason;

	private final Duration waited;

	/**
	 * Create the exception, for subclasses.
	 * @param key the key as its user named it
	 * @param message the message
	 * @param reason the reason of the failure
	 * @param waited the time that the caller waited
	 * @param cause the interrupt of the wait, or {@code null}
	 */
	protected NotAcquiredException(String key, String message, Reason reason, Duration waited,
			@Nullable Throwable cause) {
		super(key, message, cause);
		this.reason = reason;
		this.waited = waited;
	}

	static String tooManyWaiters() {
		return "too many wait in this instance already (see holdfast.limits.waiters-per-key and .waiters)";
	}

	/**
	 * Return the reason of the failure.
	 * @return the reason
	 */
	public Reason getReason() {
		return this.reason;
	}

	/**
	 * Return the time that the caller waited.
	 * @return the time from the call to its failure
	 */
	public Duration getWaited() {
		return this.waited;
	}

	/**
	 * Reason why a lock or permits were not acquired.
	 */
	public enum Reason {

		/** Other owners held the lock or permits until the end of the wait time. */
		TIMED_OUT,

		/** The waiting thread was interrupted; its interrupt flag is set again. */
		INTERRUPTED,

		/** The application context is closing and grants nothing new. */
		SHUTDOWN,

		/**
		 * The caller would wait for itself: its thread or {@link LeaseContext} holds the
		 * key for reading, and requests it exclusively; or its thread holds the key, and
		 * the request is not re-entrant.
		 */
		SELF_BLOCKED,

		/** The request is for more permits than the semaphore's limit. */
		EXCEEDS_LIMIT,

		/** The maximum number of requests already waits in this instance. */
		TOO_MANY_WAITERS

	}

}
