package io.holdfast.redis.key;

import java.nio.charset.StandardCharsets;
import java.util.List;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

/**
 * Keys in Redis of a lock or a semaphore.
 *
 * @param resource the lock or semaphore
 * @param name the user's key with its prefix. Nothing is stored at the name of a
 * semaphore
 * @param all the KEYS of the scripts that change the resource: the keys of {@link #names}
 * and, with a fail-over grace, the key of the server. Must not be changed
 * @param slot the slot of all keys; 0 outside of a cluster
 */
public record RedisKeys(Resource resource, String name, byte[][] all, int slot) {

	public static final String QUEUE = ":queue";

	static final String FENCE = ":fence";

	static final String SEEN = ":seen";

	public static final String HOLDERS = ":holders";

	static final String STATE = ":state";

	public static final String LIMIT = ":limit";

	private static final List<String> COMPANIONS = List.of(QUEUE, FENCE, SEEN, HOLDERS, STATE, LIMIT);

	/**
	 * Return the keys of a resource.
	 * @param cluster whether Redis is a cluster
	 * @throws StoreCommandException if the user's key is refused
	 */
	public static RedisKeys of(Resource resource, RedisStoreOptions options, boolean cluster) {
		options.check(resource);
		String name = options.keyOf(resource);
		String prefix = options.prefix(resource.kind());
		return new RedisKeys(resource, name, options.withServer(bytes(names(resource.kind(), prefix, name, cluster))),
				cluster ? ClusterSlotHashUtil.calculateSlot(name) : 0);
	}

	/**
	 * Return the keys for a name. A lock has the lock key, the queue, the last fencing
	 * token, and the observation of the first waiter behind readers. A semaphore has the
	 * holders, the queue, the state of both, and the operator's limit. Two resources
	 * never have a key in common.
	 * @throws StoreCommandException as {@link #companionPrefix} does
	 */
	static String[] names(Kind kind, String prefix, String name, boolean cluster) {
		String start = companionPrefix(prefix, name, cluster);
		return (kind == Kind.LOCK) ? new String[] { name, start + QUEUE, start + FENCE, start + SEEN }
				: new String[] { start + HOLDERS, start + QUEUE, start + STATE, start + LIMIT };
	}

	/**
	 * Return the prefix of the companions of a key. In a cluster, companions have the
	 * slot of the key: Redis hashes the text between the first <code>{</code> and the
	 * next <code>}</code>, the hash tag, and the whole key if there is no such text.
	 * @param prefix the prefix of all keys of this kind
	 * @param key the key of a lock or semaphore
	 * @param cluster whether Redis is a cluster
	 * @return the prefix, which the ending of each companion follows
	 * @throws StoreCommandException if companions cannot have the slot of the key in a
	 * cluster, or if the key or its companions could be companions of another key
	 */
	static String companionPrefix(String prefix, String key, boolean cluster) {
		if (hasHashTag(key)) {
			refuseSharedCompanions(prefix, key);
			return key;
		}
		// A key without a hash tag is hashed as a whole, and becomes the hash tag of its
		// companions. An opening brace inside the key does no harm, because the opening
		// brace of the companion comes first. A closing brace would end the hash tag too
		// early.
		if (cluster && key.indexOf('}') >= 0) {
			throw refused(key, "has a '}' but no hash tag, so its queue cannot be placed beside it in a Redis cluster:"
					+ " leave the braces out, or write a tag like '{stock}:SKU0001'");
		}
		if (key.startsWith("}")) {
			throw refused(key, "begins with a '}', so the keys beside it would have no hash tag, and could be those of"
					+ " another one: choose another beginning");
		}
		return "{" + key + "}";
	}

	/**
	 * Refuse a key that its hash tag makes a companion of another key, or that would
	 * share the companions of another key: <code>a</code> and <code>{a}</code> would have
	 * the same companions. If the prefix has a hash tag, no key is put into braces.
	 */
	private static void refuseSharedCompanions(String prefix, String key) {
		for (String companion : COMPANIONS) {
			if (key.endsWith(companion)) {
				throw refused(key, "has a hash tag and ends with '" + companion
						+ "', as the keys do that Holdfast adds to another one: choose another ending");
			}
		}
		boolean inBraces = !hasHashTag(prefix) && key.startsWith("{") && key.endsWith("}");
		if (inBraces && !hasHashTag(key.substring(1, key.length() - 1))) {
			throw refused(key, "stands in braces as a whole, so the keys beside it would be those of the key without"
					+ " the braces: leave them out, or add something to it");
		}
	}

	/** Return the failure for a key that is not allowed. */
	static StoreCommandException refused(String key, String reason) {
		return new StoreCommandException("The key '" + key + "' " + reason, false, null);
	}

	/**
	 * Return the ending of a companion. User's keys with a hash tag and the ending of a
	 * companion are refused.
	 * @param stored a key in Redis
	 * @return the ending, or {@code null} if the key is no companion
	 */
	public static @Nullable String ending(String stored) {
		return hasHashTag(stored) ? COMPANIONS.stream().filter(stored::endsWith).findFirst().orElse(null) : null;
	}

	/**
	 * Return the key of a companion: the reverse of {@link #companionPrefix}.
	 * @param companion a companion in Redis
	 * @param ending the {@link #ending} of the companion
	 * @param prefix the prefix of all keys of this kind
	 */
	public static String keyOf(String companion, String ending, String prefix) {
		String start = companion.substring(0, companion.length() - ending.length());
		boolean isTag = !hasHashTag(prefix) && start.startsWith("{") && start.endsWith("}");
		String inside = isTag ? start.substring(1, start.length() - 1) : start;
		// The companions of a key with a hash tag have no additional braces.
		return (isTag && !hasHashTag(inside)) ? inside : start;
	}

	/** Return whether a key has a hash tag: a part that determines the slot. */
	public static boolean hasHashTag(String key) {
		int open = key.indexOf('{');
		return open >= 0 && key.indexOf('}', open) > open + 1;
	}

	/** Encode a text for Redis. */
	public static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	/** Encode texts for Redis. */
	public static byte[][] bytes(String... texts) {
		byte[][] bytes = new byte[texts.length][];
		for (int i = 0; i < texts.length; i++) {
			bytes[i] = bytes(texts[i]);
		}
		return bytes;
	}

}
