package io.holdfast.redis;

import io.holdfast.engine.store.FleetStore.Family;
import io.holdfast.engine.store.FleetStore.Find;
import io.holdfast.engine.store.FleetStore.Trace;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.PermitKeys;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

/**
 * Finds the resources of keys in Redis: the reverse of {@link RedisKeys} and
 * {@link PermitKeys}.
 */
final class StoredKeys {

	private final RedisStoreOptions options;

	private final Family family;

	private final String prefix;

	StoredKeys(RedisStoreOptions options, Family family) {
		this.options = options;
		this.family = family;
		this.prefix = (family == Family.SEMAPHORES) ? options.semaphorePrefix() : options.lockPrefix();
	}

	String prefix() {
		return this.prefix;
	}

	/**
	 * Return the pattern for SCAN. Companions begin with a brace, so the prefix may be
	 * inside of the key.
	 * @return a pattern that matches all keys of the family, and perhaps others
	 */
	String pattern() {
		return "*" + this.prefix.replaceAll("[*?\\[\\]\\\\]", "\\\\$0") + "*";
	}

	/**
	 * Return the resource that a key is a trace of.
	 * @return the find, or {@code null} if it is none of this family
	 */
	@Nullable Find find(String stored) {
		if (this.family == Family.SEMAPHORES) {
			Find held = beside(stored, RedisKeys.HOLDERS, Trace.HOLDERS);
			Find limited = (held != null) ? held : beside(stored, RedisKeys.LIMIT, Trace.LIMIT);
			return (limited != null) ? limited : beside(stored, RedisKeys.QUEUE, Trace.QUEUE);
		}
		if (!RedisKeys.isBesideAnother(stored)) {
			return find(stored, Trace.HOLDERS);
		}
		return beside(stored, RedisKeys.QUEUE, Trace.QUEUE);
	}

	private @Nullable Find beside(String stored, String companion, Trace trace) {
		String base = RedisKeys.besideWhat(stored, companion);
		return (base != null) ? find(base, trace) : null;
	}

	private @Nullable Find find(String name, Trace trace) {
		if (!name.startsWith(this.prefix)) {
			return null;
		}
		String key = name.substring(this.prefix.length());
		try {
			this.options.check(new Resource((this.family == Family.SEMAPHORES) ? Kind.SEMAPHORE : Kind.LOCK, key));
		}
		catch (StoreCommandException ex) {
			// Its key is as those of the other family are.
			return null;
		}
		return new Find(key, trace);
	}

}
