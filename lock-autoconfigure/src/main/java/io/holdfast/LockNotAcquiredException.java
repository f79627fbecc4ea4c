package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * A lock was not acquired, for a reason other than trouble with the store: it was held by
 * others for the whole wait, the waiting thread was interrupted or would wait for a lease
 * of its own, or this instance is shutting down.
 *
 * @since 0.1.0
 */
public class LockNotAcquiredException extends NotAcquiredException {

	private static final long serialVersionUID = 1L;

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param reason why the lock was not acquired
	 * @param waited how long the caller waited
	 * @param cause what interrupted the wait, or {@code null}
	 */
	public LockNotAcquiredException(String key, Reason reason, Duration waited, @Nullable Throwable cause) {
		super(key, "Lock '" + key + "' was not acquired after " + waited.toMillis() + " ms: " + text(reason), reason,
				waited, cause);
	}

	private static String text(Reason reason) {
		return switch (reason) {
			case TIMED_OUT -> "still held by others";
			case INTERRUPTED -> "interrupted";
			case SHUTDOWN -> "this instance is shutting down";
			case SELF_BLOCKED -> "this thread holds it and would wait for itself: release that lease first"
					+ " (a reader cannot become an exclusive holder, and reentrant(false) allows no nested lease)";
			case TOO_MANY_WAITERS -> tooManyWaiters();
			case EXCEEDS_LIMIT -> throw new IllegalArgumentException("A lock has no limit");
		};
	}

}
