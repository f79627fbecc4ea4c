package io.holdfast.engine;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;

/**
 * Resources and renewals of locks.
 */
public final class Locks {

	private Locks() {
	}

	public static Resource lock(String key) {
		return new Resource(Kind.LOCK, key);
	}

	public static Renewal renewal(String key, String token, long leaseMillis) {
		return new Renewal(lock(key), token, Resource.ALL, leaseMillis);
	}

}
