package io.holdfast.annotation;

/**
 * The moment when a lock is released.
 *
 * @since 0.1.0
 */
public enum ReleaseAfter {

	/** Release when the method has ended, also within a transaction. */
	METHOD,

	/**
	 * Release when the method has ended and the transaction that was active when the lock
	 * was taken is completed, by commit or rollback: until then, others would not see the
	 * writes under the lock. Without such a transaction like {@link #METHOD}.
	 * <p>
	 * For a method that returns a reactive type or a {@code Flow}, and for a suspending
	 * function of Kotlin, this is a reactive transaction. One of the calling thread does
	 * not keep their lock: annotate the blocking method that begins it.
	 */
	TRANSACTION

}
