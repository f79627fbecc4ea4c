package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a lock was not acquired, for a reason other than a failure of the store.
 * The lock was held by other owners for the whole wait time, the waiting thread was
 * interrupted or would have waited for its own lease, too many requests wait already, or
 * this instance is shutting down.
 *
 * @since 0.1.0
 */
public class LockNotAcquiredException extends NotAcquiredException {

	private static final long serialVersionUID = 1L;

	private final @Nullable LockHolder holder;

	/**
	 * Create the exception without a holder.
	 * @param key the key as its user named it
	 * @param reason the reason of the failure
	 * @param waited the time that the caller waited
	 * @param cause the interrupt of the wait, or {@code null}
	 */
	public LockNotAcquiredException(String key, Reason reason, Duration waited, @Nullable Throwable cause) {
		this(key, reason, waited, cause, "others", null);
	}

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param reason the reason of the failure
	 * @param waited the time that the caller waited
	 * @param cause the interrupt of the wait, or {@code null}
	 * @param heldBy the holder as it appears in the message after a timeout, such as
	 * {@code application 'shop' on shop-7f9c, process 1}
	 * @param holder the exclusive holder, or {@code null} if it is not known
	 */
	public LockNotAcquiredException(String key, Reason reason, Duration waited, @Nullable Throwable cause,
			String heldBy, @Nullable LockHolder holder) {
		super(key, "Lock '" + key + "' was not acquired after " + waited.toMillis() + " ms: " + text(reason, heldBy),
				reason, waited, cause);
		this.holder = holder;
	}

	/**
	 * Return the instance that held the lock exclusively at the last answer of Redis.
	 * @return the holder, or {@code null} if the wait did not time out, if readers or a
	 * client other than Holdfast held the lock, or if this instance does not know the
	 * holder's name. The name is unknown if the holder registered itself after this
	 * instance last read the register, if more than a thousand instances are registered,
	 * or if this instance may not read the register. The message then has the number of
	 * the holder, {@link LockHolder#instance()}
	 */
	public @Nullable LockHolder getHolder() {
		return this.holder;
	}

	private static String text(Reason reason, String heldBy) {
		return switch (reason) {
			case TIMED_OUT -> "still held by " + heldBy;
			case INTERRUPTED -> "interrupted";
			case SHUTDOWN -> "this instance is shutting down";
			case SELF_BLOCKED -> "the caller holds it and would wait for itself: release that lease first"
					+ " (a reader cannot become an exclusive holder, and reentrant(false) allows no nested lease)";
			case TOO_MANY_WAITERS -> tooManyWaiters();
			case EXCEEDS_LIMIT -> throw new IllegalArgumentException("A lock has no limit");
		};
	}

}
