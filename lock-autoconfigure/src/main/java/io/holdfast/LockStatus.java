package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The state of a key in the store, at one moment.
 *
 * @param key the key as its user named it
 * @param owner what kind of owner it has
 * @param remaining the time until it expires if it is not renewed; {@code null} if it has
 * no owner, or if its owner is foreign and gave it no end
 * @param fencingToken the last fencing token given for it, 0 if none is remembered
 * @param waiting how many instances stand in its queue, or requests if readers or a
 * writer have the key; those who wait behind others of their instance are not among them
 */
public record LockStatus(String key, Owner owner, @Nullable Duration remaining, long fencingToken, int waiting) {

	/**
	 * Return whether the key has an owner.
	 * @return whether it is locked
	 */
	public boolean isLocked() {
		return this.owner != Owner.NONE;
	}

	/**
	 * The kind of owner that a key has.
	 */
	public enum Owner {

		/** No owner: the key is free. */
		NONE,

		/** The service that was asked. */
		THIS_INSTANCE,

		/** Another instance of Holdfast. */
		OTHER_INSTANCE,

		/** Readers, or a writer, of any instance of Holdfast. */
		READ_WRITE,

		/** A client other than Holdfast. */
		FOREIGN

	}

}
