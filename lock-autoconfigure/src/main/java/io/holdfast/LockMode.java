package io.holdfast;

/**
 * The mode in which a key is locked.
 *
 * @since 0.1.0
 */
public enum LockMode {

	/**
	 * By one holder, as a writer. The usual mode, and the fastest. A thread that holds
	 * the key so may also ask for {@link #READ}, and gets a nested lease.
	 */
	EXCLUSIVE,

	/**
	 * Together with other readers, while there is no exclusive holder. Readers and
	 * exclusive holders stand in one queue. A thread that reads cannot become an
	 * exclusive holder before it has released its lease.
	 */
	READ

}
