package io.holdfast.redis.key;

import io.holdfast.engine.store.Resource.Kind;

/**
 * The keys of a semaphore by their names.
 */
public record PermitKeys(String holders, String queue, String state, String limit) {

	/** Return the keys of a semaphore, by its key with the prefix. */
	public static PermitKeys of(String semaphore, boolean cluster) {
		String[] names = RedisKeys.names(Kind.SEMAPHORE, "", semaphore, cluster);
		return new PermitKeys(names[0], names[1], names[2], names[3]);
	}

}
