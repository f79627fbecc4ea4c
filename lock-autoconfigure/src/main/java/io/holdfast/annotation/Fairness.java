package io.holdfast.annotation;

/**
 * The order in which waiters of one instance are served. Across instances, waiters stand
 * in a queue in any case.
 *
 * @since 0.1.0
 */
public enum Fairness {

	/**
	 * The default of the application: {@code holdfast.lock.fair} or
	 * {@code holdfast.semaphore.fair}, which is {@link #FAIR} unless it is set.
	 */
	DEFAULT,

	/** First come, first served. */
	FAIR,

	/** A call may pass waiters that came before, for more throughput. */
	UNFAIR

}
