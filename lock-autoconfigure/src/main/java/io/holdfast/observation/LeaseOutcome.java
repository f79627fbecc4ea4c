package io.holdfast.observation;

import java.util.Locale;

import io.holdfast.LeaseLostException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.EngineObserver.HoldEnd;

/**
 * The outcome of a request, and of its lease. Each reason for which nothing is granted,
 * and each end of a hold, has a constant of its name.
 *
 * @since 0.1.0
 */
public enum LeaseOutcome {

	/** Granted. */
	GRANTED,

	/** Not granted: others held it until the wait time was over. */
	TIMED_OUT,

	/**
	 * Not granted: others held it, and the caller went on without it, by {@code SKIP} or
	 * a {@code try…} that does not wait.
	 */
	SKIPPED,

	/** Not granted: the waiter was interrupted, or cancelled the wait. */
	INTERRUPTED,

	/** Not granted: the application shuts down. */
	SHUTDOWN,

	/** Not granted: the caller would wait for its own lease. */
	SELF_BLOCKED,

	/** Not granted: there are not as many permits in all. */
	EXCEEDS_LIMIT,

	/** Not granted: too many wait in this instance already. */
	TOO_MANY_WAITERS,

	/** Not granted: the store failed, or did not answer. */
	STORE_FAILURE,

	/**
	 * Held and then lost; or not granted, as the lease around it, or one of several keys,
	 * was lost before.
	 */
	LOST,

	/** Held and then released by its user. */
	RELEASED,

	/** Held without renewal until its time was over. */
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
	 * Return whether a request fails by it that is wrong, or in trouble, rather than
	 * late.
	 */
	boolean isError() {
		return switch (this) {
			case SELF_BLOCKED, EXCEEDS_LIMIT, TOO_MANY_WAITERS, STORE_FAILURE, LOST -> true;
			default -> false;
		};
	}

	/**
	 * As a tag's value.
	 * @return the name in lower case
	 */
	public String tag() {
		return name().toLowerCase(Locale.ROOT);
	}

}
