package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a lock or permits were not acquired, for a reason other than trouble with
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
	 * @param reason why it was not acquired
	 * @param waited how long the caller waited
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
	 * Return why it was not acquired.
	 * @return the reason
	 */
	public Reason getReason() {
		return this.reason;
	}

	/**
	 * Return how long the caller waited.
	 * @return the time from the call to its failure
	 */
	public Duration getWaited() {
		return this.waited;
	}

	/**
	 * The reason why something was not acquired.
	 */
	public enum Reason {

		/** Others held it until the wait time was over. */
		TIMED_OUT,

		/** The waiting thread was interrupted; its interrupt flag is set again. */
		INTERRUPTED,

		/** The application context is closing and grants nothing new. */
		SHUTDOWN,

		/**
		 * The thread would wait for itself: it reads the key and asks for it exclusively,
		 * or its own lease is in the way of a request without re-entry.
		 */
		SELF_BLOCKED,

		/** More permits were asked for than the semaphore has in all. */
		EXCEEDS_LIMIT,

		/** As many requests as may wait in this instance do so already. */
		TOO_MANY_WAITERS

	}

}
