package io.holdfast.engine.store;

import io.holdfast.async.SingleLine;

/**
 * A lock or semaphore: its kind and key. One of the seven concepts of the engine; a
 * value, which everything below and above may use.
 *
 * @param kind its kind
 * @param key its key, as its user named it
 * @since 0.1.0
 */
public record Resource(Kind kind, String key) {

	/**
	 * How many permits an exclusive request takes of a lock, which is all of them; a
	 * reader takes one.
	 */
	public static final int ALL = 1_000_000_000;

	/**
	 * Return the same in every JVM, so that runs that depend on it can be repeated in
	 * another.
	 * @return a hash code
	 */
	@Override
	public int hashCode() {
		return 31 * this.kind.ordinal() + this.key.hashCode();
	}

	/**
	 * Describe it in words, for messages.
	 * @return the kind and the key
	 */
	@Override
	public String toString() {
		return ((this.kind == Kind.SEMAPHORE) ? "semaphore '" : "lock '") + SingleLine.of(this.key) + "'";
	}

	/**
	 * Kinds of resources.
	 */
	public enum Kind {

		/** A lock with one exclusive owner, or with readers. */
		LOCK,

		/** A semaphore. */
		SEMAPHORE

	}

}
