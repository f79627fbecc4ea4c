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

	private final @Nullable LockHolder holder;

	/**
	 * Create the exception without a holder.
	 * @param key the key as its user named it
	 * @param reason why the lock was not acquired
	 * @param waited how long the caller waited
	 * @param cause the interrupt of the wait, or {@code null}
	 */
	public LockNotAcquiredException(String key, Reason reason, Duration waited, @Nullable Throwable cause) {
		this(key, reason, waited, cause, "others", null);
	}

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param reason why the lock was not acquired
	 * @param waited how long the caller waited
	 * @param cause the interrupt, or {@code null}
	 * @param heldBy the holder for the message of a wait that timed out, such as
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
	 * Return the instance that held the lock exclusively when Redis was asked last. The
	 * message tells its application only, as messages reach HTTP clients; or the number
	 * of readers.
	 * @return the holder; {@code null} if the lock was held by readers or by a client
	 * other than Holdfast, and for other reasons than a wait that timed out. Also
	 * {@code null} if an instance held it whose name is not known here: one that has
	 * registered itself since the last look, which is a minute ago at most, and a second
	 * after a holder without a name; one beyond the first thousand; any, without the
	 * right to read the register. The message then tells its number,
	 * {@link LockHolder#instance()}
	 */
	public @Nullable LockHolder getHolder() {
		return this.holder;
	}

	private static String text(Reason reason, String heldBy) {
		return switch (reason) {
			case TIMED_OUT -> "still held by " + heldBy;
			case INTERRUPTED -> "interrupted";
			case SHUTDOWN -> "this instance is shutting down";
			case SELF_BLOCKED -> "this thread holds it and would wait for itself: release that lease first"
					+ " (a reader cannot become an exclusive holder, and reentrant(false) allows no nested lease)";
			case TOO_MANY_WAITERS -> tooManyWaiters();
			case EXCEEDS_LIMIT -> throw new IllegalArgumentException("A lock has no limit");
		};
	}

}
