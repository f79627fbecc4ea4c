package io.holdfast;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * The state of a key in the store, at one moment. Thread-safe; no method blocks but
 * {@link #holder()}, {@link #thread()} and {@link #note()}.
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
	 * Return the instance that holds the key exclusively. Blocks while the register in
	 * Redis is read, if the instance is a new one.
	 * @return the holder; {@code null} if there is none, if it is a client other than
	 * Holdfast, if its instance left the register before this one saw it there, or
	 * without the right to read the register
	 * @throws LeaseStoreException if Redis fails
	 */
	@Nullable LockHolder holder();

	/**
	 * Return when the key was granted to its exclusive owner, by the clock of Redis.
	 * @return the time; {@code null} if no instance holds it exclusively, or if the store
	 * has no clock, as the one in memory
	 */
	default @Nullable Instant since() {
		boolean held = owner() == Owner.THIS_INSTANCE || owner() == Owner.OTHER_INSTANCE;
		// A fencing token is the time of its grant in microseconds, by a clock since
		// 2020.
		return (held && fencingToken() >= 1_577_836_800_000_000L)
				? Instant.ofEpochMilli(TimeUnit.MICROSECONDS.toMillis(fencingToken())) : null;
	}

	/**
	 * Return the thread that acquired the key exclusively. Its instance is asked by the
	 * first call, which blocks for a second at most.
	 * @return the name of the thread; {@code null} if the key was acquired
	 * asynchronously, has another owner by now, or if its instance does not answer
	 * @throws LeaseStoreException if Redis fails
	 */
	@Nullable String thread();

	/**
	 * Return the {@linkplain LeaseRequest#note(String) note} of the exclusive owner's
	 * request. Its instance is asked by the first call, which blocks for a second at
	 * most.
	 * @return the note; {@code null} if there is none, if the key has another owner by
	 * now, or if its instance does not answer
	 * @throws LeaseStoreException if Redis fails
	 */
	@Nullable String note();

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
