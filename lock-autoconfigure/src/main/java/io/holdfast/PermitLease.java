package io.holdfast;

/**
 * The {@link Lease} of permits of a semaphore: all of them are renewed or lost together.
 *
 * @since 0.1.0
 */
public interface PermitLease extends Lease {

	/**
	 * The innermost permits of the annotated method, or of the code
	 * {@linkplain SemaphoreService#withPermits(SemaphoreRequest, LeasedCall) with
	 * permits}, that the current thread runs. Reactive chains have theirs in their
	 * {@link LeaseContext}.
	 * @return the lease
	 * @throws IllegalStateException if this thread does not run such code
	 */
	static PermitLease current() {
		return LeaseContext.current().permits();
	}

	/**
	 * Return how many permits this lease is for.
	 * @return the number of permits, at least 1
	 */
	int permits();

}
