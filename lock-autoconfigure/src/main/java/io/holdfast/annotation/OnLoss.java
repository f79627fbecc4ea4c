package io.holdfast.annotation;

/**
 * Outcome of a call whose lease is lost while its method runs, also if the loss becomes
 * known only by the release. In any case, a warning is logged and a
 * {@link io.holdfast.LeaseLostEvent} is published.
 *
 * @since 0.1.0
 */
public enum OnLoss {

	/**
	 * The caller gets the method's result. The caller does not wait for the release,
	 * which is sent as by {@link io.holdfast.Lease#close()}.
	 */
	NOTIFY,

	/**
	 * The caller gets a {@link io.holdfast.LeaseLostException} instead of the method's
	 * result, after the method has ended and the store has answered the release. An
	 * exception of the method itself is not replaced.
	 * <p>
	 * A transaction of the caller that {@linkplain ReleaseAfter#TRANSACTION keeps the
	 * lock} is rolled back, also if the lock is lost between the end of the method and
	 * the commit. A transaction that begins under the lock, as with
	 * {@code @Transactional} on the same method, is already committed when the exception
	 * is thrown. Call {@link io.holdfast.Lease#ensureHeld()} as the last step of such a
	 * transaction. A loss that becomes known only by the release is always too late for
	 * the commit.
	 */
	THROW,

	/**
	 * The method is stopped: its thread is interrupted, or its reactive chain or future
	 * is cancelled. The caller gets a {@link io.holdfast.LeaseLostException}, even if the
	 * method returns normally; an exception of the method becomes the cause. Otherwise as
	 * {@link #THROW}. After the method, the interrupt flag that the loss has set is
	 * cleared. An interrupt by other code is kept if it came before the loss; a later one
	 * cannot be told from the interrupt of the loss.
	 */
	INTERRUPT

}
