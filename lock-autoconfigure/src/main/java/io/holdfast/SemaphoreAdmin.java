package io.holdfast;

/**
 * Administrative operations on the semaphores of a {@link SemaphoreService#admin()
 * SemaphoreService}: limits for all instances, and a forced release, which breaks
 * guarantees that the service gives to its users. Thread-safe.
 *
 * @since 0.1.0
 */
public interface SemaphoreAdmin {

	/**
	 * Set the limit of a semaphore for all instances, in place of the limits of requests.
	 * The limit stays until it is {@linkplain #clearLimit cleared}, also across restarts.
	 * After a raise, waiters are granted at once as far as the new limit allows. Lowering
	 * the limit revokes no permits: Redis grants no permits until enough have come back.
	 * Instances may still hand permits over locally for
	 * {@code holdfast.semaphore.local-hand-over.max-time}, 5 ms by default. Waiters for
	 * more permits than the new limit are refused. Blocks until the store answers.
	 * @param key the key of the semaphore
	 * @param limit the new limit, from 0, which stops all requests, to 1,000,000,000
	 * @throws IllegalArgumentException if the key or the limit is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	void setLimit(String key, int limit);

	/**
	 * Remove the operator's limit, so that the limits of requests apply again. Blocks
	 * until the store answers.
	 * @param key the key of the semaphore
	 * @return whether a limit was set
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean clearLimit(String key);

	/**
	 * Release all permits of a semaphore by force, and grant them to waiters. More
	 * holders than the limit may run until the instances of the former holders are
	 * notified: for a short time, or until the former holders' next renewals if the
	 * notification is lost. Logged as a warning. Blocks until the store answers. If the
	 * store stops answering during the release, holders in this instance may lose their
	 * leases all the same.
	 * @param key the key of the semaphore
	 * @return whether a holder was released
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean forceRelease(String key);

}
