package io.holdfast;

import java.util.concurrent.CompletableFuture;

/**
 * The {@link Lease} of permits of a semaphore: all of them are renewed or lost together.
 *
 * @since 0.1.0
 */
public interface PermitLease extends Lease {

	/**
	 * The innermost permits of the annotated method, or of the code
	 * {@linkplain SemaphoreService#withPermits(SemaphoreRequest, LeasedCall) with
	 * permits}, that the current thread runs. Reactive chains have theirs in their
	 * {@link LeaseContext}.
	 * @return the lease
	 * @throws IllegalStateException if this thread does not run such code
	 */
	static PermitLease current() {
		return LeaseContext.current().permits();
	}

	/**
	 * Return how many permits this lease is for: those that were acquired, less those
	 * that were {@linkplain #release(int) released} before the last ones.
	 * @return the number of permits, at least 1
	 */
	int permits();

	/**
	 * Release some of the permits; the lease goes on with the others. With the last of
	 * them it is released as by {@link #release()}. A {@code minHold} that is not over
	 * keeps them back, and the caller does not wait for that. Blocks until the store
	 * answered, as {@link #release()} does.
	 * @param permits how many to release, from 1 to {@link #permits()}
	 * @return what the release found
	 * @throws IllegalArgumentException if the number is less than 1, or more than this
	 * lease has; none is released then
	 * @throws LeaseStoreException if the store refused or did not answer in time. The
	 * permits count as released all the same: the release is repeated in the background
	 * while the lease goes on, and they come back at the latest when it ends
	 */
	ReleaseResult release(int permits);

	/**
	 * Release some of the permits, as {@link #release(int)} does, without waiting for the
	 * store.
	 * @param permits how many to release, from 1 to {@link #permits()}
	 * @return the result to come; fails with {@link LeaseStoreException}, or with
	 * {@link IllegalArgumentException}. Continuations run on a thread of Holdfast's that
	 * may block
	 */
	CompletableFuture<ReleaseResult> releaseAsync(int permits);

}
