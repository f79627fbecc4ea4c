package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * A lock was not acquired, for a reason other than trouble with the store: it was held by
 * others for the whole wait, the waiting thread was interrupted, or this instance is
 * shutting down.
 */
public class LockNotAcquiredException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	private final Reason reason;

	private final Duration waited;

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param reason why the lock was not acquired
	 * @param waited how long the caller waited
	 * @param cause what interrupted the wait, or {@code null}
	 */
	public LockNotAcquiredException(String key, Reason reason, Duration waited, @Nullable Throwable cause) {
		super(key, "Lock '" + key + "' was not acquired: " + reason.text + " after " + waited.toMillis() + " ms",
				cause);
		this.reason = reason;
		this.waited = waited;
	}

	/**
	 * Why the lock was not acquired.
	 * @return the reason
	 */
	public Reason getReason() {
		return this.reason;
	}

	/**
	 * How long the caller waited.
	 * @return the time from the call to its failure
	 */
	public Duration getWaited() {
		return this.waited;
	}

	/**
	 * Why a lock was not acquired.
	 */
	public enum Reason {

		/** Others held it until the wait time was over. */
		TIMED_OUT("still held by others"),

		/** The waiting thread was interrupted; its interrupt flag is set again. */
		INTERRUPTED("interrupted"),

		/** The application context is closing and grants nothing new. */
		SHUTDOWN("this instance is shutting down");

		private final String text;

		Reason(String text) {
			this.text = text;
		}

	}

}
