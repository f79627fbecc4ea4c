package io.holdfast.redis.key;

import io.holdfast.engine.store.Resource.Kind;

public record LockKeys(String lock, String queue, String fence, String seen) {

	/** Return the keys of a lock, by its key with the prefix, which has no hash tag. */
	public static LockKeys of(String lock, boolean cluster) {
		return of("", lock, cluster);
	}

	/** Return the keys of a lock, by the prefix and its key with the prefix. */
	static LockKeys of(String prefix, String lock, boolean cluster) {
		String[] names = RedisKeys.names(Kind.LOCK, prefix, lock, cluster);
		return new LockKeys(names[0], names[1], names[2], names[3]);
	}

}
