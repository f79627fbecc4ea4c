package io.holdfast.annotation;

/**
 * What becomes of a call whose lease is lost while its method runs. Whatever is chosen, a
 * warning is logged and a {@link io.holdfast.LeaseLostEvent} published.
 */
public enum OnLoss {

	/** Nothing more: the method's result is the caller's. */
	NOTIFY,

	/**
	 * The caller gets a {@link io.holdfast.LeaseLostException} instead of the method's
	 * result, once it ends; a transaction around the method is rolled back. What the
	 * method throws by itself is not replaced.
	 */
	THROW,

	/**
	 * The method is to end at once: its thread is interrupted, a reactive chain or a
	 * future cancelled. The caller gets a {@link io.holdfast.LeaseLostException} whatever
	 * the method makes of that; what it throws is the cause.
	 */
	INTERRUPT

}
