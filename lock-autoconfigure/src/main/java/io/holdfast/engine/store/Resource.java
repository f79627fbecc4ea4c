package io.holdfast.engine.store;

import io.holdfast.async.SingleLine;

/**
 * A lock or semaphore: its kind and key. One of the seven concepts of the engine.
 * Immutable.
 *
 * @param kind the kind of resource
 * @param key the key, with its namespace in front, and without the prefix of Redis keys
 * @since 0.1.0
 */
public record Resource(Kind kind, String key) {

	/**
	 * Number of all permits of a lock, which an exclusive request takes. A reader takes
	 * one permit.
	 */
	public static final int ALL = 1_000_000_000;

	/**
	 * Return a hash code that is the same in every JVM, so that simulations are
	 * repeatable.
	 * @return the hash code
	 */
	@Override
	public int hashCode() {
		return 31 * this.kind.ordinal() + this.key.hashCode();
	}

	/**
	 * Return a description for messages.
	 * @return the kind and the key
	 */
	@Override
	public String toString() {
		return ((this.kind == Kind.SEMAPHORE) ? "semaphore '" : "lock '") + SingleLine.of(this.key) + "'";
	}

	/**
	 * Kind of resource.
	 */
	public enum Kind {

		/** A lock with one exclusive owner, or with readers. */
		LOCK,

		/** A semaphore. */
		SEMAPHORE

	}

}
