package io.holdfast.engine.store;

import java.time.Duration;
import java.util.concurrent.TimeoutException;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a command of a {@link LeaseStore} fails.
 */
public final class StoreCommandException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	private static final String NOT_COMPARED = "; nothing is granted before it has answered once";

	private final boolean temporary;

	private final boolean worthWaiting;

	private final @Nullable String refusal;

	private final boolean forbidden;

	/**
	 * Create the failure.
	 * @param message the failure and, where it can be known, the cure
	 * @param temporary whether the same command may succeed later by itself: a lost
	 * connection, a fail-over under way; not a missing right or a wrong type
	 * @param cause the driver's error, or {@code null}
	 */
	public StoreCommandException(String message, boolean temporary, @Nullable Throwable cause) {
		this(message, temporary, false, null, false, cause);
	}

	private StoreCommandException(String message, boolean temporary, boolean worthWaiting, @Nullable String refusal,
			boolean forbidden, @Nullable Throwable cause) {
		super(SingleLine.of(message), cause);
		this.temporary = temporary;
		this.worthWaiting = worthWaiting;
		this.refusal = (refusal != null) ? SingleLine.of(refusal) : null;
		this.forbidden = forbidden;
	}

	/**
	 * Return the failure of a grant that is not as safe as it is to be. Its token keeps
	 * it until it is released, or has lost it again.
	 * @param message the missing right, without keys
	 * @return the failure
	 */
	public static StoreCommandException unconfirmed(String message) {
		return new StoreCommandException(message, true, true, message, false, null);
	}

	/**
	 * Return the failure of a store that has to finish something before it can run the
	 * command.
	 * @param message the work to finish
	 * @param refusal the same without keys
	 * @param cause the driver's error
	 * @return the failure
	 */
	public static StoreCommandException notYet(String message, String refusal, Throwable cause) {
		return new StoreCommandException(message, true, true, refusal, false, cause);
	}

	/**
	 * Return the failure of a command that the store does not let this application run,
	 * or does not have.
	 * @param message the attempt, and the missing right
	 * @param refusal the missing right, without keys
	 * @param cause the driver's error
	 * @return the failure
	 */
	public static StoreCommandException forbidden(String message, String refusal, Throwable cause) {
		return new StoreCommandException(message, false, false, refusal, true, cause);
	}

	/**
	 * Return the failure of a command that the store refuses now, or for some keys.
	 * @param message the attempt, and the answer of the store
	 * @param temporary whether the same command may succeed later by itself
	 * @param refusal how the store answered, without keys
	 * @param cause the driver's error
	 * @return the failure
	 */
	public static StoreCommandException refused(String message, boolean temporary, String refusal, Throwable cause) {
		return new StoreCommandException(message, temporary, false, refusal, false, cause);
	}

	/**
	 * Return the failure of a command that is not sent, as other instances that use the
	 * store would not understand its writes.
	 * @param message the instance, and the cure
	 * @return the failure
	 */
	public static StoreCommandException incompatible(String message) {
		return new StoreCommandException(message, false, false, null, false, null);
	}

	/**
	 * Return the failure of a request before the versions of the instances were compared.
	 * @param cause why the comparison has failed
	 * @return the failure, which is temporary
	 */
	public static StoreCommandException notCompared(StoreCommandException cause) {
		return new StoreCommandException(cause.getMessage() + NOT_COMPARED, true, cause.worthWaiting, cause.refusal,
				false, cause);
	}

	/** Return the failure of a request during the comparison of versions. */
	public static StoreCommandException comparing() {
		return new StoreCommandException("the store (Redis) did not answer" + NOT_COMPARED, true, null);
	}

	/** Return the failure of a command without an answer. */
	public static StoreCommandException silence(Duration patience, TimeoutException cause) {
		return new StoreCommandException("the store (Redis) did not answer within " + patience.toMillis() + " ms", true,
				cause);
	}

	/** Return the failure of a wait for a connection. */
	public static StoreCommandException unreached(Duration patience) {
		return new StoreCommandException(
				"the store (Redis) cannot be reached: the connection was lost, and no new one could be opened within "
						+ patience.toMillis() + " ms (holdfast.redis.outage-patience)",
				true, null);
	}

	/**
	 * Return whether the same command may succeed later by itself.
	 * @return whether to try again
	 */
	public boolean isTemporary() {
		return this.temporary;
	}

	/** Return whether it is that of a command without an answer. */
	public boolean isSilence() {
		return getCause() instanceof TimeoutException;
	}

	/**
	 * Return how the store refused the command, for a reason other than its key: it
	 * cannot write now, or a right or a command is missing.
	 * @return its answer without keys, or {@code null} if it did not refuse the command
	 */
	public @Nullable String refusal() {
		return this.refusal;
	}

	/**
	 * Return whether the store does not let this application run the command, or does not
	 * have it, for all keys.
	 * @return whether it is {@link #forbidden}
	 */
	public boolean isForbidden() {
		return this.forbidden;
	}

	/**
	 * Return whether the store is there, and will be able to serve the same token by
	 * itself. So it is worth to ask again for as long as one waits, where other failures
	 * end a wait that has met no other holder.
	 * @return whether it is {@link #unconfirmed} or {@link #notYet} possible
	 */
	public boolean isWorthWaiting() {
		return this.worthWaiting;
	}

}
