package io.holdfast;

/**
 * The mode in which a key is locked.
 *
 * @since 0.1.0
 */
public enum LockMode {

	/**
	 * By one holder. The usual mode, and the fastest. It excludes readers and writers of
	 * the same key too, but does not stand in one queue with them, and may wait in vain
	 * while they keep coming, as they may for it: use {@link #WRITE} where a key has
	 * readers.
	 */
	EXCLUSIVE,

	/**
	 * Together with other readers, while there is no writer.
	 */
	READ,

	/**
	 * By one writer, while there is no reader.
	 */
	WRITE

}
