package io.holdfast.redis.key;

import java.time.Duration;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.RedisLeaseStore;
import org.jspecify.annotations.Nullable;

import org.springframework.util.ObjectUtils;

/**
 * The options of a {@link RedisLeaseStore}: how it uses Redis.
 *
 * @param lockPrefix the prefix of lock keys; must be the same for all that exclude one
 * another
 * @param semaphorePrefix the prefix of the keys of semaphores; the same for all too, but
 * another
 * @param channelPrefix the prefix of wake-up channels; the same for all too
 * @param healMissingTtl how long a lock key may live that has no expiry, or {@code null}
 * to leave it alone
 * @param fenceRetention how long the last fencing token of a key is remembered
 * @param handoffTimeout how long a hand-off is granted at first
 * @param polling whether waiters ask at intervals instead of being woken up: for Redis
 * without Pub/Sub
 * @param fleetKey the key where instances say that they are there; keys that begin with
 * it have their reports for a moment
 * @param longestLease for how long a server that is not the one which granted before
 * grants nothing new, while holders have their leases written there again: no lease of
 * any instance may be longer. {@code null} to do without, as a cluster must. As NFSv4
 * (RFC 7530, 9.6.2) and Chubby (Burrows, OSDI 2006, 2.9) do it; the scripts see to it, so
 * that no command comes before it
 * @param replicas how many replicas are to have each grant, or {@code null} for none
 */
public record RedisStoreOptions(String lockPrefix, String semaphorePrefix, String channelPrefix,
		@Nullable Duration healMissingTtl, Duration fenceRetention, Duration handoffTimeout, boolean polling,
		String fleetKey, @Nullable Duration longestLease, @Nullable Replicas replicas) {

	/**
	 * Return where the server that granted last is remembered.
	 * @return the key; of use with a fail-over grace only
	 */
	public String serverKey() {
		return this.fleetKey + ":server";
	}

	/**
	 * Return the KEYS of a script that grants or renews, with the key of the server if
	 * there is a fail-over grace.
	 * @param keys the KEYS without it
	 * @return all KEYS
	 */
	public byte[][] withServer(byte[][] keys) {
		return (this.longestLease == null) ? keys : ObjectUtils.addObjectToArray(keys, RedisKeys.bytes(serverKey()));
	}

	/**
	 * Refuse a key that begins as those of the other kind do, as with an empty prefix:
	 * their companions may be the same.
	 * @param resource the lock or semaphore
	 * @throws StoreCommandException if its key begins with the longer prefix of the other
	 * kind, or is one by which instances know each other
	 */
	public void check(Resource resource) {
		boolean semaphore = resource.kind() == Kind.SEMAPHORE;
		String prefix = semaphore ? this.semaphorePrefix : this.lockPrefix;
		String other = semaphore ? this.lockPrefix : this.semaphorePrefix;
		String key = keyOf(resource);
		if (other.startsWith(prefix) && key.startsWith(other)) {
			throw new StoreCommandException("The key '" + key + "' begins with '" + other + "', as those of "
					+ (semaphore ? "locks" : "semaphores")
					+ " do: use another key, or prefixes of which none begins with the other", false, null);
		}
		int end = this.fleetKey.length();
		if (key.startsWith(this.fleetKey) && (key.length() == end || key.charAt(end) == ':')) {
			throw new StoreCommandException(
					"The key '" + key + "' is one of Holdfast's own (holdfast.fleet.key): use"
							+ " another key, or another holdfast.lock.key-prefix or holdfast.semaphore.key-prefix",
					false, null);
		}
	}

	/**
	 * Return the name of a resource in Redis.
	 * @param resource the lock or semaphore
	 * @return its key with its prefix
	 */
	public String keyOf(Resource resource) {
		return ((resource.kind() == Kind.SEMAPHORE) ? this.semaphorePrefix : this.lockPrefix) + resource.key();
	}

	/**
	 * The number of replicas that are to have a grant before it counts.
	 *
	 * @param min how many, at least 1
	 * @param timeout how long to wait for them
	 */
	public record Replicas(int min, Duration timeout) {
	}

}
