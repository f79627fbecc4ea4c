package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The state of a key in the store, at one moment. Immutable.
 *
 * @since 0.1.0
 */
public interface LockStatus {

	/**
	 * Return the key as its user named it.
	 * @return the key
	 */
	String key();

	/**
	 * Return the kind of the key's owner.
	 * @return the kind of owner
	 */
	Owner owner();

	/**
	 * Return the time until the key expires if it is not renewed.
	 * @return the time left; {@code null} if the key has no owner, or if its owner is
	 * foreign and gave it no end
	 */
	@Nullable Duration remaining();

	/**
	 * Return the last fencing token that was given for the key.
	 * @return the fencing token, 0 if none is remembered
	 */
	long fencingToken();

	/**
	 * Return how many leases for reading are held, in all instances. Nested ones are not
	 * counted.
	 * @return the number of readers; 0 unless {@link #owner()} is {@link Owner#READERS}
	 */
	int readers();

	/**
	 * Return how many entries the queue in the store has, over all instances and modes.
	 * Requests that wait behind others of their instance have none: one entry stands for
	 * all requests of an instance that want the key exclusively.
	 * @return the length of the queue
	 */
	int waiting();

	/**
	 * Return how many requests of the service that was asked wait for the key, in all
	 * modes, whether they stand in the store's queue or behind others of their instance.
	 * @return the number of requests
	 */
	int waitingInThisInstance();

	/**
	 * Return whether the key has an owner.
	 * @return whether it is locked
	 */
	default boolean isLocked() {
		return owner() != Owner.NONE;
	}

	/**
	 * The kind of owner that a key has.
	 */
	enum Owner {

		/** No owner: the key is free. */
		NONE,

		/** The service that was asked, exclusively. */
		THIS_INSTANCE,

		/** Another instance of Holdfast, exclusively. */
		OTHER_INSTANCE,

		/** Readers of any instance of Holdfast. */
		READERS,

		/** A client other than Holdfast. */
		FOREIGN

	}

}
