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
	 * @param message the failure and, if known, the remedy
	 * @param temporary whether a repetition of the command may succeed: after a lost
	 * connection or a fail-over, but not with a missing right or a wrong type
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
	 * Return the failure of a grant that replicas have not confirmed. The token keeps the
	 * grant until its release or loss.
	 * @param message the failure, without keys
	 * @return the failure
	 */
	public static StoreCommandException unconfirmed(String message) {
		return new StoreCommandException(message, true, true, message, false, null);
	}

	/**
	 * Return the failure of a store that cannot run the command yet.
	 * @param message the reason
	 * @param refusal the reason without keys
	 * @param cause the driver's error
	 * @return the failure
	 */
	public static StoreCommandException notYet(String message, String refusal, Throwable cause) {
		return new StoreCommandException(message, true, true, refusal, false, cause);
	}

	/**
	 * Return the failure of a command that this application has no right to run, or that
	 * the store does not have.
	 * @param message the attempt and the missing right
	 * @param refusal the missing right, without keys
	 * @param cause the driver's error
	 * @return the failure
	 */
	public static StoreCommandException forbidden(String message, String refusal, Throwable cause) {
		return new StoreCommandException(message, false, false, refusal, true, cause);
	}

	/**
	 * Return the failure of a command that the store refuses now, or for some keys.
	 * @param message the attempt and the store's answer
	 * @param temporary whether a repetition of the command may succeed
	 * @param refusal the store's answer, without keys
	 * @param cause the driver's error
	 * @return the failure
	 */
	public static StoreCommandException refused(String message, boolean temporary, String refusal, Throwable cause) {
		return new StoreCommandException(message, temporary, false, refusal, false, cause);
	}

	/**
	 * Return the failure of a command that is not sent, because other instances would not
	 * understand its writes.
	 * @param message the incompatible instance and the remedy
	 * @return the failure
	 */
	public static StoreCommandException incompatible(String message) {
		return new StoreCommandException(message, false, false, null, false, null);
	}

	/**
	 * Return the failure of a request after a failed comparison of versions.
	 * @param cause the failure of the comparison
	 * @return the failure, which is temporary
	 */
	public static StoreCommandException notCompared(StoreCommandException cause) {
		return new StoreCommandException(cause.getMessage() + NOT_COMPARED, true, cause.worthWaiting, cause.refusal,
				false, cause);
	}

	/**
	 * Return the failure of a request during an unanswered comparison of versions.
	 * @param reason the known reason, as the end of a sentence, or an empty text
	 */
	public static StoreCommandException comparing(String reason) {
		return new StoreCommandException("the store (Redis) did not answer" + reason + NOT_COMPARED, true, null);
	}

	/**
	 * Return the failure of a command that timed out.
	 * @param reason the known reason, as the end of a sentence, or an empty text
	 */
	public static StoreCommandException silence(Duration patience, String reason, TimeoutException cause) {
		return new StoreCommandException(
				"the store (Redis) did not answer within " + patience.toMillis() + " ms" + reason, true, cause);
	}

	/**
	 * Return the failure of a request that waited for a connection for too long.
	 * @param reason the known reason, as the end of a sentence, or an empty text
	 */
	public static StoreCommandException unreached(Duration patience, String reason) {
		return new StoreCommandException(
				"the store (Redis) cannot be reached: the connection was lost, and no new one could be opened within "
						+ patience.toMillis() + " ms (holdfast.redis.outage-patience)" + reason,
				true, null);
	}

	/**
	 * Return whether a repetition of the command may succeed.
	 * @return whether to try again
	 */
	public boolean isTemporary() {
		return this.temporary;
	}

	/** Return whether this is the failure of a command that timed out. */
	public boolean isSilence() {
		return getCause() instanceof TimeoutException;
	}

	/**
	 * Return the store's refusal of the command for a reason that does not depend on the
	 * key: no writes are possible, or a right or a command is missing.
	 * @return the store's answer without keys, or {@code null} if the store did not
	 * refuse the command
	 */
	public @Nullable String refusal() {
		return this.refusal;
	}

	/**
	 * Return whether this application has no right to run the command, or the store does
	 * not have it, for all keys.
	 * @return whether this is a {@link #forbidden} command
	 */
	public boolean isForbidden() {
		return this.forbidden;
	}

	/**
	 * Return whether the store is reachable and expected to serve the token soon. A
	 * waiting request then goes on for its whole wait time, whereas other failures end it
	 * after the outage patience.
	 * @return whether this is an {@link #unconfirmed} grant or a command that is
	 * {@link #notYet} possible
	 */
	public boolean isWorthWaiting() {
		return this.worthWaiting;
	}

}
