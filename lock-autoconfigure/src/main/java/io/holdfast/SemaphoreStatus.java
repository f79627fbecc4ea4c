package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * The state of a semaphore in the store, at one moment. Immutable.
 *
 * @since 0.1.0
 */
public interface SemaphoreStatus {

	/**
	 * Return the key as its user named it.
	 * @return the key
	 */
	String key();

	/**
	 * Return how many permits there are in all: the operator's limit if there is one,
	 * else that of the last request.
	 * @return the limit; {@code null} if the semaphore is not used and no operator has
	 * set a limit
	 */
	@Nullable Integer limit();

	/**
	 * Return whether an operator has set the limit.
	 * @return whether it is the operator's
	 */
	boolean limitSet();

	/**
	 * Return how many permits are held.
	 * @return the number of permits; more than the limit if that was lowered
	 */
	int used();

	/**
	 * Return how many leases hold permits.
	 * @return the number of leases
	 */
	int holders();

	/**
	 * Return how many requests stand in the queue of the semaphore. Waiters inside an
	 * instance, whose turn to stand there is to come, are not among them.
	 * @return the number of requests
	 */
	int waiting();

	/**
	 * Return how many requests of the service that was asked wait for permits, whether
	 * they stand in the store's queue or behind others of their instance.
	 * @return the number of requests
	 */
	int waitingInThisInstance();

	/**
	 * Return how many permits are free.
	 * @return the number of permits, never negative; 0 if there is no limit
	 */
	default int free() {
		Integer limit = limit();
		return (limit != null) ? Math.max(0, limit - used()) : 0;
	}

}
