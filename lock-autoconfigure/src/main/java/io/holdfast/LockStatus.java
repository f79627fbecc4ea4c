package io.holdfast;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * The state of a key in the store, at one moment. Thread-safe. Only {@link #holder()},
 * {@link #thread()} and {@link #note()} may block.
 *
 * @since 0.1.0
 */
public interface LockStatus {

	/**
	 * Return the key, with its {@linkplain KeyNamespace namespace} in front.
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
	 * @return the time left; {@code null} if the key has no owner, or if a client other
	 * than Holdfast holds the key without an expiry
	 */
	@Nullable Duration remaining();

	/**
	 * Return the last fencing token of the key.
	 * @return the fencing token, 0 if the store has none
	 */
	long fencingToken();

	/**
	 * Return the number of leases for reading in all instances, without nested leases.
	 * @return the number of readers; 0 unless {@link #owner()} is {@link Owner#READERS}
	 */
	int readers();

	/**
	 * Return the number of entries in the store's queue, for all instances and modes. One
	 * entry stands for all exclusive requests of an instance: requests that wait in a
	 * queue of their instance have no entry of their own.
	 * @return the length of the queue
	 */
	int waiting();

	/**
	 * Return the number of requests of this service's instance that wait for the key, in
	 * all modes, in the store's queue or in the instance's queue.
	 * @return the number of requests
	 */
	int waitingInThisInstance();

	/**
	 * Return the instance that holds the key exclusively. If this instance does not know
	 * the holder yet, blocks while it reads the register of instances in Redis.
	 * @return the holder; {@code null} if there is none, if it is a client other than
	 * Holdfast, if it left the register before this instance read it, or if this instance
	 * may not read the register
	 * @throws LeaseStoreException if Redis fails
	 */
	@Nullable LockHolder holder();

	/**
	 * Return the time of the grant to the exclusive owner, by the clock of Redis.
	 * @return the time; {@code null} if no instance holds the key exclusively, or if the
	 * store, as the one in memory, has no clock
	 */
	default @Nullable Instant since() {
		boolean held = owner() == Owner.THIS_INSTANCE || owner() == Owner.OTHER_INSTANCE;
		// A fencing token of Redis is the time of its grant, in microseconds since 1970.
		// Smaller numbers than those of 2020 are tokens of a store without a clock.
		return (held && fencingToken() >= 1_577_836_800_000_000L)
				? Instant.ofEpochMilli(TimeUnit.MICROSECONDS.toMillis(fencingToken())) : null;
	}

	/**
	 * Return the thread that acquired the key exclusively. The first call asks the
	 * holder's instance, and blocks for a second at most, or for
	 * {@code holdfast.redis.command-timeout} longer if Redis does not answer.
	 * @return the name of the thread; {@code null} if the key was acquired
	 * asynchronously, if it has another owner by now, or if the holder's instance does
	 * not answer
	 * @throws LeaseStoreException if Redis fails
	 */
	@Nullable String thread();

	/**
	 * Return the {@linkplain LeaseRequest#note(String) note} of the exclusive owner's
	 * request. The first call asks the holder's instance, and blocks as {@link #thread()}
	 * does.
	 * @return the note; {@code null} if there is none, if the key has another owner by
	 * now, or if the holder's instance does not answer
	 * @throws LeaseStoreException if Redis fails
	 */
	@Nullable String note();

	/**
	 * Return whether the key has an owner.
	 * @return whether the key is locked
	 */
	default boolean isLocked() {
		return owner() != Owner.NONE;
	}

	/**
	 * Kind of a key's owner.
	 */
	enum Owner {

		/** No owner: the key is free. */
		NONE,

		/** An exclusive holder in this instance. */
		THIS_INSTANCE,

		/** An exclusive holder in another instance of Holdfast. */
		OTHER_INSTANCE,

		/** Readers in any instance of Holdfast. */
		READERS,

		/** A client other than Holdfast. */
		FOREIGN

	}

}
