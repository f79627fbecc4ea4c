package io.holdfast;

/**
 * The {@link Lease} of permits of a semaphore: all of them are released, renewed or lost
 * together.
 */
public interface PermitLease extends Lease {

	/**
	 * How many permits this lease is for.
	 * @return the number of permits, at least 1
	 */
	int permits();

}
