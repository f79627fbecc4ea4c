package io.holdfast.redis.key;

import io.holdfast.engine.store.StoreCommandException;

/**
 * The keys in Redis of one semaphore.
 *
 * @param holders the holders of permits
 * @param queue the waiters
 * @param state the state of both
 * @param limit its limit if an operator has set one
 */
public record PermitKeys(String holders, String queue, String state, String limit) {

	/**
	 * Return the keys of a semaphore. No two semaphores have one in common.
	 * @param semaphore its name in Redis; nothing is at this key itself
	 * @param cluster whether Redis is a cluster
	 * @return the keys
	 * @throws StoreCommandException as {@link RedisKeys#beside} does
	 */
	public static PermitKeys of(String semaphore, boolean cluster) {
		String beside = RedisKeys.beside(semaphore, cluster);
		return new PermitKeys(beside + RedisKeys.HOLDERS, beside + RedisKeys.QUEUE, beside + RedisKeys.STATE,
				beside + RedisKeys.LIMIT);
	}

	/**
	 * Return the KEYS of a script.
	 * @return all of them
	 */
	public byte[][] toBytes() {
		return RedisKeys.bytes(this.holders, this.queue, this.state, this.limit);
	}

}
