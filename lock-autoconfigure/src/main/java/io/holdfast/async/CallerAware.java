package io.holdfast.async;

/**
 * Lease that can be told that the caller of its code has gone, and the code goes on.
 */
public interface CallerAware {

	/**
	 * Note, for operators, that the caller has gone: it has cancelled, or timed out. Does
	 * not block.
	 */
	void markCallerGone();

}
