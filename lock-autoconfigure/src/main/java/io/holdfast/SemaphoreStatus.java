package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * The state of a semaphore in the store, at one moment.
 *
 * @param key the key as its user named it
 * @param limit how many permits there are in all: the operator's limit if there is one,
 * else what the last request said; {@code null} if the semaphore is not used and no
 * operator has set a limit
 * @param limitSet whether an operator has set the limit
 * @param used how many permits are held; more than the limit if that was lowered
 * @param holders how many leases hold them
 * @param waiting how many requests stand in its queue; those that wait inside an instance
 * for their turn to stand there are not among them
 */
public record SemaphoreStatus(String key, @Nullable Integer limit, boolean limitSet, int used, int holders,
		int waiting) {

	/**
	 * Return how many permits are free.
	 * @return the number of permits, never negative; 0 if there is no limit
	 */
	public int free() {
		return (this.limit != null) ? Math.max(0, this.limit - this.used) : 0;
	}

}
