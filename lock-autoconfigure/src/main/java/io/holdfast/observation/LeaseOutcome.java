package io.holdfast.observation;

import java.util.Locale;

import io.holdfast.LeaseLostException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.EngineObserver.HoldEnd;

/**
 * Outcome of a request or lease. Has a constant of the same name for each reason of a
 * refusal, and for each kind of end of a hold.
 *
 * @since 0.1.0
 */
public enum LeaseOutcome {

	/** The request was granted. */
	GRANTED,

	/**
	 * Not granted: other owners held the lock or permits until the end of the wait time.
	 */
	TIMED_OUT,

	/**
	 * Not granted: other owners held the lock or permits, and the caller went on without
	 * the lease, by {@code SKIP} or a {@code try…} method without waiting.
	 */
	SKIPPED,

	/** Not granted: the waiter was interrupted or cancelled. */
	INTERRUPTED,

	/** Not granted: the application is shutting down. */
	SHUTDOWN,

	/** Not granted: the caller would have waited for its own lease. */
	SELF_BLOCKED,

	/** Not granted: the request was for more permits than the limit. */
	EXCEEDS_LIMIT,

	/** Not granted: too many requests already waited in this instance. */
	TOO_MANY_WAITERS,

	/** Not granted: the store failed, or did not answer. */
	STORE_FAILURE,

	/**
	 * Held and then lost; or not granted, because the outer lease or one of several keys
	 * was lost before.
	 */
	LOST,

	/** Held and then released by the user. */
	RELEASED,

	/** Held without renewal until the lease time was over. */
	EXPIRED;

	static LeaseOutcome of(RuntimeException failure, boolean optional) {
		if (failure instanceof NotAcquiredException ex) {
			return (optional && ex.getReason() == Reason.TIMED_OUT) ? SKIPPED : valueOf(ex.getReason().name());
		}
		return (failure instanceof LeaseLostException) ? LOST : STORE_FAILURE;
	}

	static LeaseOutcome of(HoldEnd end) {
		return valueOf(end.name());
	}

	/**
	 * Return whether the outcome is an error, as opposed to a normal end such as a
	 * timeout.
	 */
	boolean isError() {
		return switch (this) {
			case SELF_BLOCKED, EXCEEDS_LIMIT, TOO_MANY_WAITERS, STORE_FAILURE, LOST -> true;
			default -> false;
		};
	}

	/**
	 * Return the value of the tag.
	 * @return the name in lower case
	 */
	public String tag() {
		return name().toLowerCase(Locale.ROOT);
	}

}
