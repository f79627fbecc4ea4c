package io.holdfast.async;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A lease as the calls and transactions see it that end it.
 */
public interface LeaseInternals {

	/**
	 * Note, for operators, that the caller has gone: it has cancelled, or timed out. Does
	 * not block.
	 */
	void markCallerGone();

	/** Return whether its release has begun. */
	boolean isReleased();

	/**
	 * Release it without an answer, on a thread that may block: it tells the observers.
	 * Does not wait for the store. A failure is logged, and nothing is thrown.
	 * @return completed once the caller may go on: when the release was sent or, while
	 * too many releases have no answer, when it was answered. Dependents must not block
	 */
	CompletableFuture<?> sendRelease();

	/**
	 * Do the same as {@link #sendRelease()} on any thread.
	 * @return completed once the caller may go on, on a thread of Holdfast's that may
	 * block
	 */
	CompletableFuture<?> sendReleaseAsync();

	/**
	 * Return its grants by the store, one for each key, which it may share with other
	 * leases: none once it is released.
	 */
	Map<String, ?> grants();

}
