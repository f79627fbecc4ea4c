package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * One wait of a user's, for one resource or for several together. Thread-safe.
 */
interface PendingAcquisition {

	/** Return the lease, or why there is none. Completed by the first outcome. */
	CompletableFuture<? extends EngineLease> result();

	/**
	 * Return the observation, or {@code null}. The thread that takes the result tells the
	 * observers first.
	 */
	@Nullable RequestObservation observation();

	/** Return when it ends by itself, on the monotonic clock. */
	long endsAt();

	/**
	 * End the wait, as no thread waits any more; if it has ended already, the result
	 * tells.
	 */
	void interrupt(@Nullable InterruptedException cause);

	/** End the wait now, as it should have ended, unless it has. */
	void endOverdue();

}
