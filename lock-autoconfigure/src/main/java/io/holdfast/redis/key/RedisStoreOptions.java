package io.holdfast.redis.key;

import java.time.Duration;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.RedisLeaseStore;
import org.jspecify.annotations.Nullable;

import org.springframework.util.ObjectUtils;

/**
 * Options of a {@link RedisLeaseStore}. The prefixes have to be the same in all
 * applications that share locks or semaphores.
 *
 * @param lockPrefix the prefix of lock keys
 * @param semaphorePrefix the prefix of the keys of semaphores, different from the prefix
 * of lock keys
 * @param channelPrefix the prefix of the channels for notifications
 * @param healMissingTtl the new expiry of lock keys without expiry, or {@code null} to
 * leave such keys alone
 * @param fenceRetention the time for which the last fencing token of a lock is kept
 * @param handoffTimeout the initial lease time of a hand-off: a grant by the command of
 * another token
 * @param polling whether waiters poll instead of receiving notifications, as for a Redis
 * without Pub/Sub
 * @param fleetKey the key of the register of instances, and the prefix of the keys of
 * reports
 * @param longestLease the maximum lease time of all instances, and the duration of the
 * fail-over grace; {@code null} for no grace, as required in a cluster. During the grace,
 * a server other than the last granting server grants nothing new, while holders restore
 * their leases there, as in NFSv4 (RFC 7530, 9.6.2) and Chubby (Burrows, OSDI 2006, 2.9).
 * The scripts enforce the grace, so that no command precedes the grace
 * @param replicas the required replicas of each grant, or {@code null} for none
 */
public record RedisStoreOptions(String lockPrefix, String semaphorePrefix, String channelPrefix,
		@Nullable Duration healMissingTtl, Duration fenceRetention, Duration handoffTimeout, boolean polling,
		String fleetKey, @Nullable Duration longestLease, @Nullable Replicas replicas) {

	/**
	 * Return the key that remembers the last granting server. Used only with a fail-over
	 * grace.
	 * @return the key
	 */
	public String serverKey() {
		return this.fleetKey + ":server";
	}

	/**
	 * Return the KEYS of a script that grants or renews: with a fail-over grace, the key
	 * of the server is last.
	 * @param keys the KEYS without the key of the server
	 * @return all KEYS
	 */
	public byte[][] withServer(byte[][] keys) {
		return (this.longestLease == null) ? keys : ObjectUtils.addObjectToArray(keys, RedisKeys.bytes(serverKey()));
	}

	/**
	 * Refuse a key that could belong to a resource of the other kind, as with an empty
	 * prefix, or to the register of instances. Otherwise, two resources could have the
	 * same companions.
	 * @param resource the lock or semaphore
	 * @throws StoreCommandException if the key begins with the longer prefix of the other
	 * kind, or is a key of the register
	 */
	public void check(Resource resource) {
		boolean semaphore = resource.kind() == Kind.SEMAPHORE;
		String other = prefix(semaphore ? Kind.LOCK : Kind.SEMAPHORE);
		String key = keyOf(resource);
		if (other.startsWith(prefix(resource.kind())) && key.startsWith(other)) {
			throw RedisKeys.refused(key,
					"begins with '" + other + "', as those of " + (semaphore ? "locks" : "semaphores")
							+ " do: use another key, or prefixes of which none begins with the other");
		}
		int end = this.fleetKey.length();
		if (key.startsWith(this.fleetKey) && (key.length() == end || key.charAt(end) == ':')) {
			throw RedisKeys.refused(key, "is one of Holdfast's own (holdfast.fleet.key): use another key, or another"
					+ " holdfast.lock.key-prefix or holdfast.semaphore.key-prefix");
		}
	}

	/**
	 * Return the name of a resource in Redis.
	 * @param resource the lock or semaphore
	 * @return the user's key with its prefix
	 */
	public String keyOf(Resource resource) {
		return prefix(resource.kind()) + resource.key();
	}

	/** Return the prefix of the keys of a kind. */
	public String prefix(Kind kind) {
		return (kind == Kind.SEMAPHORE) ? this.semaphorePrefix : this.lockPrefix;
	}

	/**
	 * Required replicas of each grant.
	 *
	 * @param min the minimum number of replicas, at least 1
	 * @param timeout the timeout of their confirmation
	 */
	public record Replicas(int min, Duration timeout) {
	}

}
