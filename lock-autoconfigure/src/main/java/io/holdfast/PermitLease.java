package io.holdfast;

/**
 * The {@link Lease} of one or more permits of a semaphore, which are renewed, lost and
 * released together.
 *
 * @since 0.1.0
 */
public interface PermitLease extends Lease {

	/**
	 * Return the innermost permit lease of the annotated method, or of the
	 * {@linkplain SemaphoreService#withPermits(SemaphoreRequest, LeasedCall) code with
	 * permits}, that the current thread runs. In a reactive chain, use the chain's
	 * {@link LeaseContext} instead.
	 * @return the lease
	 * @throws IllegalStateException if this thread runs no code with permits
	 */
	static PermitLease current() {
		return LeaseContext.current().permits();
	}

	/**
	 * Return the number of permits of this lease.
	 * @return the number of permits, at least 1
	 */
	int permits();

}
