package io.holdfast.redis.key;

import io.holdfast.engine.store.Resource.Kind;

/**
 * The keys of a lock by their names.
 */
public record LockKeys(String lock, String queue, String fence, String seen) {

	/** Return the keys of a lock, by its key with the prefix. */
	public static LockKeys of(String lock, boolean cluster) {
		String[] names = RedisKeys.names(Kind.LOCK, lock, cluster);
		return new LockKeys(names[0], names[1], names[2], names[3]);
	}

}
