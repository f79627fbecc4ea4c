package io.holdfast;

/**
 * The {@link Lease} of a lock.
 */
public interface LockLease extends Lease {

	/**
	 * The fencing token of this lease: a positive number that is greater than that of
	 * every earlier grant of the same key, also across restarts and fail-overs of the
	 * store. Pass it on with each write and have the written resource refuse lower ones;
	 * that closes the gap of a holder that was paused beyond its lease. Nested leases
	 * share the number of the lease that they are nested in. Leases for reading have
	 * numbers in the same row.
	 * @return the fencing token
	 * @see <a href=
	 * "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html">Martin
	 * Kleppmann: How to do distributed locking</a>
	 */
	long fence();

}
