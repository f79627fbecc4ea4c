package io.holdfast.async;

import java.util.List;
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
	 * Begin to release it. Does not block.
	 * @return completed by the result, on the thread that has it: dependents must not
	 * block
	 */
	CompletableFuture<?> startRelease();

	/**
	 * Return its grants by the store, which it may share with other leases: none once it
	 * is released.
	 */
	List<?> openHolds();

}
