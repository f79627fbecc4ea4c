package io.holdfast;

/**
 * Administrators' calls on semaphores, of a {@link SemaphoreService#admin()
 * SemaphoreService}: limits for the whole fleet, and a release that breaks promises of
 * the service to its users. Thread-safe.
 *
 * @since 0.1.0
 */
public interface SemaphoreAdmin {

	/**
	 * Set a limit that comes before those of all requests, in the whole fleet, until it
	 * is {@linkplain #clearLimit cleared}; it outlives restarts. Waiters that fit into a
	 * raised limit are granted at once. A lowered one revokes nothing: Redis grants
	 * nothing until enough permits came back, and instances pass none on when
	 * {@code holdfast.semaphore.local-hand-over.max-time} is over, 5 ms by default;
	 * waiters for more than it are refused. Blocks until the store answers.
	 * @param key which semaphore
	 * @param limit how many permits there are from now on, from 0, which stops all, to
	 * 1,000,000,000
	 * @throws IllegalArgumentException if the key or the limit is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	void setLimit(String key, int limit);

	/**
	 * Remove a limit that was set, so that each request's own counts again. Blocks until
	 * the store answers.
	 * @param key which semaphore
	 * @return whether a limit was set
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean clearLimit(String key);

	/**
	 * Release all permits of a semaphore in their holders' names; waiters get them as
	 * they fit. For administrators: there are more holders than the limit until the
	 * instances of the former ones are told, which is soon; at their next renewals if
	 * that message is lost. Logged as a warning. Blocks until the store answers. If it
	 * does not, holders in this instance have lost their leases all the same.
	 * @param key which semaphore
	 * @return whether there was a holder
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean forceRelease(String key);

}
