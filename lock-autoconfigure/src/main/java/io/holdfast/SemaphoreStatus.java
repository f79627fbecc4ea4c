package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * The state of a semaphore in the store, at one moment. Immutable.
 *
 * @since 0.1.0
 */
public interface SemaphoreStatus {

	/**
	 * Return the key, with its {@linkplain KeyNamespace namespace} in front.
	 * @return the key
	 */
	String key();

	/**
	 * Return the limit: the operator's limit if one is set, otherwise the limit of the
	 * last request.
	 * @return the limit; {@code null} if the semaphore is not used and no operator has
	 * set a limit
	 */
	@Nullable Integer limit();

	/**
	 * Return whether an operator has set the limit.
	 * @return whether the limit is an operator's
	 */
	boolean limitSet();

	/**
	 * Return the number of permits that are held.
	 * @return the number of permits, greater than the limit after the limit was lowered
	 */
	int used();

	/**
	 * Return the number of leases that hold permits.
	 * @return the number of leases
	 */
	int holders();

	/**
	 * Return the number of requests in the semaphore's queue in the store. Does not count
	 * requests that still wait in a queue of their instance.
	 * @return the number of requests
	 */
	int waiting();

	/**
	 * Return the number of requests of this service's instance that wait for permits, in
	 * the store's queue or in the instance's queue.
	 * @return the number of requests
	 */
	int waitingInThisInstance();

	/**
	 * Return the number of free permits.
	 * @return the number of permits, never negative; 0 if there is no limit
	 */
	default int free() {
		Integer limit = limit();
		return (limit != null) ? Math.max(0, limit - used()) : 0;
	}

}
