package io.holdfast.redis.key;

import java.util.concurrent.atomic.AtomicReferenceArray;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

/**
 * Maps resources to Redis keys. Caches recently used ones, as most leases are released
 * soon. Thread-safe.
 */
public final class RedisKeyCache {

	/** A power of two, and some half a kilobyte for each that was used. */
	private static final int KNOWN = 4096;

	private final RedisStoreOptions options;

	private final boolean cluster;

	private final AtomicReferenceArray<Name> known = new AtomicReferenceArray<>(KNOWN);

	/** Create an empty cache. */
	public RedisKeyCache(RedisStoreOptions options, boolean cluster) {
		this.options = options;
		this.cluster = cluster;
	}

	/**
	 * Return the name of a resource in Redis.
	 * @param resource the resource
	 * @return its name
	 * @throws StoreCommandException if it may not be called so
	 */
	public Name of(Resource resource) {
		int hash = resource.key().hashCode() + resource.kind().ordinal();
		int place = (hash ^ (hash >>> 16)) & (KNOWN - 1);
		Name last = this.known.get(place);
		if (last != null && last.resource.key().equals(resource.key()) && last.resource.kind() == resource.kind()) {
			return last;
		}
		String key = this.options.keyOf(resource);
		byte[][] keys = this.options.withServer(keys(resource));
		Name name = new Name(resource, key, keys, this.cluster ? ClusterSlotHashUtil.calculateSlot(key) : 0);
		this.known.set(place, name);
		return name;
	}

	/**
	 * Return the KEYS of a resource: its own key, and those beside it.
	 * @param resource the resource
	 * @return its KEYS, without the key of the server
	 * @throws StoreCommandException if it may not be called so
	 */
	public byte[][] keys(Resource resource) {
		this.options.check(resource);
		String key = this.options.keyOf(resource);
		return (resource.kind() == Kind.LOCK) ? RedisKeys.of(key, this.cluster).toBytes()
				: PermitKeys.of(key, this.cluster).toBytes();
	}

	/**
	 * The name of a resource.
	 *
	 * @param resource the resource
	 * @param key its key with its prefix
	 * @param keys the KEYS of the scripts that change it; not to be changed
	 * @param slot the slot of all of them, 0 outside of a cluster
	 */
	public record Name(Resource resource, String key, byte[][] keys, int slot) {
	}

}
