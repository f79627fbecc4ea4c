package io.holdfast;

/**
 * Mode in which a key is locked.
 *
 * @since 0.1.0
 */
public enum LockMode {

	/**
	 * Locked by one holder, as a writer. The usual mode, and the fastest. A thread that
	 * holds the key exclusively and requests it for {@link #READ} gets a nested lease.
	 */
	EXCLUSIVE,

	/**
	 * Locked together with other readers, while there is no exclusive holder. Readers and
	 * exclusive requests wait in one queue. A reader must release its lease before it can
	 * lock the key exclusively.
	 */
	READ

}
