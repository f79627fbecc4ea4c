package io.holdfast.annotation;

/**
 * Moment of the release of a lock.
 *
 * @since 0.1.0
 */
public enum ReleaseAfter {

	/**
	 * Release the lock when the method has ended, even within a transaction of the
	 * caller.
	 */
	METHOD,

	/**
	 * Release the lock when the method has ended and the transaction of the caller, if
	 * one was active when the lock was acquired, is committed or rolled back. The next
	 * owner of the lock then sees the writes of the transaction. Without such a
	 * transaction, as {@link #METHOD}.
	 * <p>
	 * For a method that returns a reactive type or a {@code Flow}, and for a suspending
	 * function of Kotlin, only a reactive transaction keeps the lock. To have a
	 * transaction of the calling thread keep the lock, annotate the blocking method that
	 * begins the transaction.
	 */
	TRANSACTION

}
