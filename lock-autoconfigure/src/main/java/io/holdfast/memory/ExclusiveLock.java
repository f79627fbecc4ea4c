package io.holdfast.memory;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import org.jspecify.annotations.Nullable;

/** The exclusive lock of the same key. */
interface ExclusiveLock {

	/**
	 * End the reservation for the first that waits here: the queue of readers and writers
	 * is asked now.
	 */
	void endReservation();

	/** Return who has the key exclusively, or {@code null}. */
	@Nullable String owner();

	/**
	 * Return whether one that came before an arrival waits for the key exclusively.
	 */
	boolean isWanted(long arrival);

	/**
	 * Keep the place of the first reader or writer among those that wait for the key
	 * exclusively. Only the first has one.
	 */
	void mark(AcquireCommand command, boolean polls, long arrival);

	/** Return how long the key is held yet, in whatever way; -1 for no end. */
	long ttl();

	/** Grant the key, which is free, to the first that waits for it exclusively. */
	void grantFirst();

	/** Forget those that wait exclusively in front of all others, and are gone. */
	void dropAbsent();

	/** Count one that comes to either queue. */
	long arrive();

	/** Give up the place of the first reader or writer. */
	void unmark();

	/** Return how many wait for the key exclusively. */
	int waiting();

}
