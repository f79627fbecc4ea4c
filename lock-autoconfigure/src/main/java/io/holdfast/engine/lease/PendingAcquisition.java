package io.holdfast.engine.lease;

import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * One wait of a user's, for one resource or for several together. Thread-safe.
 */
public interface PendingAcquisition {

	/** Return the lease, or why there is none. Completed by the first outcome. */
	CompletableFuture<? extends EngineLease> result();

	/**
	 * Return what a thread that can {@link #come} waits for first: its being called, or
	 * the result. If the request is not fair, its thread counts as blocked from then on.
	 */
	default CompletableFuture<?> turn() {
		return result();
	}

	/** A thread that was called comes, and then waits for the result. */
	default void come() {
		// No thread is called.
	}

	/** Return how long until its end, at which it ends by itself. */
	long leftNanos();

	/**
	 * End the wait, as no thread waits any more; if it has ended already, the result
	 * tells.
	 */
	void interrupt(@Nullable InterruptedException cause);

	/** It should have ended: end it now, unless it has. */
	void overdue();

}
