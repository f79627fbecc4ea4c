package io.holdfast.redis;

import java.nio.charset.StandardCharsets;

import io.holdfast.engine.StoreFailure;

/**
 * The keys in Redis of one lock. The companions share the slot of the lock key in a
 * cluster: Redis hashes what is between the first <code>{</code> and the first
 * <code>}</code> behind it, if there is anything, and the whole key otherwise.
 *
 * @param lock the lock key
 * @param queue who waits for it
 * @param fence its last fencing token
 */
record RedisKeys(String lock, String queue, String fence) {

	private static final String QUEUE = ":queue";

	private static final String FENCE = ":fence";

	/**
	 * The keys of a lock. No two locks have one in common.
	 * @param lock the lock key
	 * @param cluster whether Redis is a cluster
	 * @return the keys
	 * @throws StoreFailure if the companions cannot be placed beside it in a cluster, or
	 * if they might be those of another lock
	 */
	static RedisKeys of(String lock, boolean cluster) {
		if (hasHashTag(lock)) {
			refuseKeysOfOthers(lock);
			return new RedisKeys(lock, lock + QUEUE, lock + FENCE);
		}
		// Without a tag in it, all of the lock key is hashed, and it becomes the tag of
		// its companions. A brace that opens inside does no harm there, since theirs is
		// the first; one that closes inside would end the tag too early.
		if (cluster && lock.indexOf('}') >= 0) {
			throw new StoreFailure("The lock key '" + lock
					+ "' has a '}' but no hash tag, so its queue cannot be placed"
					+ " beside it in a Redis cluster: leave the braces out, or write a tag like '{stock}:SKU0001'",
					false, null);
		}
		return new RedisKeys(lock, "{" + lock + "}" + QUEUE, "{" + lock + "}" + FENCE);
	}

	/**
	 * With a tag, a lock key could be what another lock has for its companion, or have
	 * the same companions: those of <code>a</code> are the ones that <code>{a}</code>
	 * would have.
	 */
	private static void refuseKeysOfOthers(String lock) {
		if (lock.endsWith(QUEUE) || lock.endsWith(FENCE)) {
			throw new StoreFailure("The lock key '" + lock + "' has a hash tag and ends with '" + QUEUE + "' or '"
					+ FENCE + "', as the keys beside another lock do: let it end in another way", false, null);
		}
		if (lock.charAt(0) == '{' && lock.indexOf('}') == lock.length() - 1) {
			throw new StoreFailure(
					"The lock key '" + lock + "' is a hash tag and nothing else, so the keys beside it"
							+ " would be those of the lock without the braces: leave them out, or add something to it",
					false, null);
		}
	}

	private static boolean hasHashTag(String key) {
		int open = key.indexOf('{');
		return open >= 0 && key.indexOf('}', open) > open + 1;
	}

	/**
	 * The KEYS of a script.
	 * @return all three
	 */
	byte[][] toBytes() {
		return new byte[][] { bytes(this.lock), bytes(this.queue), bytes(this.fence) };
	}

	static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

}
