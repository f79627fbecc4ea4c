package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * Pending request of a user, for one resource or for several together. Thread-safe.
 */
interface PendingAcquisition {

	/**
	 * Return the future of the lease, which fails with the exception for the user. The
	 * first outcome counts.
	 */
	CompletableFuture<? extends EngineLease> result();

	/**
	 * Return the observation, or {@code null}. The thread that takes the result must
	 * notify the observers first.
	 */
	@Nullable RequestObservation observation();

	/** Return the latest end of the wait, by the monotonic clock. */
	long endsAt();

	/**
	 * End the wait because its caller has gone. Has no effect on a wait that has already
	 * ended.
	 */
	void interrupt(@Nullable InterruptedException cause);

	/**
	 * End a wait that has missed its deadline. Has no effect on a wait that has already
	 * ended.
	 */
	void endOverdue();

}
