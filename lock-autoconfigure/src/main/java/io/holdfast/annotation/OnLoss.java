package io.holdfast.annotation;

/**
 * The outcome of a call whose lease is lost while its method runs, also if only the
 * release finds out. In any case, a warning is logged and a
 * {@link io.holdfast.LeaseLostEvent} published.
 *
 * @since 0.1.0
 */
public enum OnLoss {

	/**
	 * Nothing more: the method's result is the caller's. The caller does not wait for the
	 * release, which is sent as by {@link io.holdfast.Lease#close()}.
	 */
	NOTIFY,

	/**
	 * The caller gets a {@link io.holdfast.LeaseLostException} instead of the method's
	 * result, once it ends and the store has answered the release. An exception of the
	 * method itself is not replaced.
	 * <p>
	 * A transaction that {@linkplain ReleaseAfter#TRANSACTION keeps the lock} is rolled
	 * back, also if the lock is lost between the end of the method and the commit. One
	 * that begins inside of the lock, as with {@code @Transactional} on the same method,
	 * is over by then: check the lease as the last thing in it, with
	 * {@link io.holdfast.Lease#ensureHeld()}. A loss that only the release finds comes
	 * after the commit in any case.
	 */
	THROW,

	/**
	 * The method is to end at once: its thread is interrupted, a reactive chain or a
	 * future cancelled. The caller gets a {@link io.holdfast.LeaseLostException}, also if
	 * the method returns; an exception of the method is its cause. Otherwise as
	 * {@link #THROW}. The thread is not left interrupted by the loss. An interrupt from
	 * outside is kept if it comes before that of the loss; later, the two interrupts
	 * cannot be told apart.
	 */
	INTERRUPT

}
