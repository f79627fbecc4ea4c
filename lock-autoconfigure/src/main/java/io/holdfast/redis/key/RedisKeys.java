package io.holdfast.redis.key;

import java.nio.charset.StandardCharsets;
import java.util.List;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

/**
 * The keys in Redis of a lock or a semaphore.
 *
 * @param resource the lock or semaphore
 * @param name its key with its prefix; nothing is at that of a semaphore itself
 * @param all the KEYS of the scripts that change it, those of {@link #names} and that of
 * the server; not to be changed
 * @param slot the slot of all of them, 0 outside of a cluster
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
	 * @throws StoreCommandException if it may not be called so
	 */
	public static RedisKeys of(Resource resource, RedisStoreOptions options, boolean cluster) {
		options.check(resource);
		String name = options.keyOf(resource);
		return new RedisKeys(resource, name, options.withServer(bytes(names(resource.kind(), name, cluster))),
				cluster ? ClusterSlotHashUtil.calculateSlot(name) : 0);
	}

	/**
	 * Return the keys of one name: of a lock itself, its waiters, its last fencing token,
	 * and when its first waiter has asked while others read; of a semaphore the holders
	 * of permits, the waiters, the state of both, and its limit if an operator has set
	 * one. No two locks or semaphores have one in common.
	 * @throws StoreCommandException as {@link #beside} does
	 */
	static String[] names(Kind kind, String name, boolean cluster) {
		String beside = beside(name, cluster);
		return (kind == Kind.LOCK) ? new String[] { name, beside + QUEUE, beside + FENCE, beside + SEEN }
				: new String[] { beside + HOLDERS, beside + QUEUE, beside + STATE, beside + LIMIT };
	}

	/**
	 * Return the prefix of the companions of a key. They share its slot in a cluster:
	 * Redis hashes the part between the first <code>{</code> and the first <code>}</code>
	 * behind it, if there is anything, and the whole key otherwise.
	 * @param key the key of a lock or semaphore
	 * @param cluster whether Redis is a cluster
	 * @return the beginning, to be followed by one of the endings
	 * @throws StoreCommandException if companions cannot be placed beside the key in a
	 * cluster, or if they, or the key, might be those of another one
	 */
	static String beside(String key, boolean cluster) {
		if (hasHashTag(key)) {
			refuseKeysOfOthers(key);
			return key;
		}
		// Without a tag in it, all of the key is hashed, and it becomes the tag of its
		// companions. A brace that opens inside does no harm there, since theirs is the
		// first; one that closes inside would end the tag too early.
		if (cluster && key.indexOf('}') >= 0) {
			throw new StoreCommandException(
					"The key '" + key + "' has a '}' but no hash tag, so its queue cannot be placed beside it"
							+ " in a Redis cluster: leave the braces out, or write a tag like '{stock}:SKU0001'",
					false, null);
		}
		if (key.startsWith("}")) {
			throw new StoreCommandException(
					"The key '" + key + "' begins with a '}', so the keys beside it would have no hash"
							+ " tag, and could be those of another one: choose another beginning",
					false, null);
		}
		return "{" + key + "}";
	}

	/**
	 * Refuse a key whose tag makes it the companion of another one, or gives it the same
	 * companions: those of <code>a</code> are the ones that <code>{a}</code> would have.
	 */
	private static void refuseKeysOfOthers(String key) {
		for (String companion : COMPANIONS) {
			if (key.endsWith(companion)) {
				throw new StoreCommandException(
						"The key '" + key + "' has a hash tag and ends with '" + companion
								+ "', as the keys do that Holdfast adds to another one: choose another ending",
						false, null);
			}
		}
		boolean inBraces = key.startsWith("{") && key.endsWith("}");
		if (inBraces && !hasHashTag(key.substring(1, key.length() - 1))) {
			throw new StoreCommandException(
					"The key '" + key + "' stands in braces as a whole, so the keys beside it would be"
							+ " those of the key without the braces: leave them out, or add something to it",
					false, null);
		}
	}

	/**
	 * Return whether a key is one that is beside another one, and none that has others
	 * beside it itself: those with a tag are refused if they end like that.
	 * @param stored a key in Redis
	 * @return whether it is a companion
	 */
	public static boolean isBesideAnother(String stored) {
		return hasHashTag(stored) && COMPANIONS.stream().anyMatch(stored::endsWith);
	}

	/**
	 * Return the reverse of {@link #beside}.
	 * @param stored a key in Redis
	 * @param companion the ending of the companion
	 * @return the key that it would be beside, or {@code null} if there can be none
	 */
	public static @Nullable String besideWhat(String stored, String companion) {
		if (!stored.endsWith(companion) || !hasHashTag(stored)) {
			return null;
		}
		String beside = stored.substring(0, stored.length() - companion.length());
		boolean isTag = beside.startsWith("{") && beside.endsWith("}");
		String inside = isTag ? beside.substring(1, beside.length() - 1) : beside;
		// A key with a tag of its own has its companions without further braces.
		return (isTag && !hasHashTag(inside)) ? inside : beside;
	}

	/** Return whether a key has a part by which Redis finds its slot. */
	public static boolean hasHashTag(String key) {
		int open = key.indexOf('{');
		return open >= 0 && key.indexOf('}', open) > open + 1;
	}

	/** Return a text as Redis gets it. */
	public static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	/** Return texts as Redis gets them. */
	public static byte[][] bytes(String... texts) {
		byte[][] bytes = new byte[texts.length][];
		for (int i = 0; i < texts.length; i++) {
			bytes[i] = bytes(texts[i]);
		}
		return bytes;
	}

}
