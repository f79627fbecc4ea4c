package io.holdfast.async;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Internal methods of a lease, for the calls and transactions that release it.
 */
public interface LeaseInternals {

	/**
	 * Note that the caller has gone, because it has cancelled or timed out. Shown to
	 * operators. Does not block.
	 */
	void markCallerGone();

	/** Return whether the release has begun. */
	boolean isReleased();

	/**
	 * Release the lease without waiting for the store. Must be called on a thread that
	 * may block, because it notifies the observers. Throws no exception: failures are
	 * logged.
	 * @return a future that is completed when the caller may continue: when the release
	 * is sent or, if too many releases are unanswered, when it is answered. Dependents
	 * must not block
	 */
	CompletableFuture<?> sendRelease();

	/**
	 * Release the lease as {@link #sendRelease()} does, but on any thread.
	 * @return a future that is completed when the caller may continue, on a Holdfast
	 * thread that may block
	 */
	CompletableFuture<?> sendReleaseAsync();

	/**
	 * Return the store's grants of this lease by key, which nested leases share. Empty
	 * after the release.
	 */
	Map<String, ?> grants();

}
