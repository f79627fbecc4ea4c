package io.holdfast.annotation;

/**
 * Order in which requests for permits are served.
 *
 * @since 0.1.0
 */
public enum Fairness {

	/**
	 * The default of the application: {@code holdfast.semaphore.fair}, which is
	 * {@link #FAIR} unless it is set.
	 */
	DEFAULT,

	/** First come, first served. */
	FAIR,

	/** A call overtakes earlier waiters if enough permits are free for the call. */
	UNFAIR

}
