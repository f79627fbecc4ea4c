package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseContext;
import org.jspecify.annotations.Nullable;

/**
 * Pending request of a user, for one resource or for several together. Thread-safe.
 *
 * @param <L> the type of the lease
 */
abstract class PendingAcquisition<L extends EngineLease> {

	final EngineContext context;

	/** Requesting thread, for re-entry. {@code null} for asynchronous requests. */
	final @Nullable Thread thread;

	final LeaseContext leaseContext;

	/**
	 * Observation of the request, or {@code null}. The thread that takes the result must
	 * notify the observers first.
	 */
	final @Nullable RequestObservation observation;

	/**
	 * Future of the lease, which fails with the exception for the user. The first outcome
	 * counts.
	 */
	final CompletableFuture<L> result = new CompletableFuture<>();

	PendingAcquisition(EngineContext context, @Nullable Thread thread, LeaseContext leaseContext,
			@Nullable RequestObservation observation) {
		this.context = context;
		this.thread = thread;
		this.leaseContext = leaseContext;
		this.observation = observation;
	}

	/** Return the latest end of the wait, by the monotonic clock. */
	abstract long endsAt();

	/**
	 * End the wait because its caller has gone. Has no effect on a wait that has already
	 * ended.
	 */
	abstract void interrupt(@Nullable InterruptedException cause);

	/**
	 * End a wait that has missed its deadline. Has no effect on a wait that has already
	 * ended.
	 */
	abstract void endOverdue();

}
