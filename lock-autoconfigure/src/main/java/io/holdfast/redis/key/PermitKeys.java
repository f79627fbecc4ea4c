package io.holdfast.redis.key;

import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * The keys in Redis of one semaphore, or of one read-write lock.
 *
 * @param holders who holds permits; a read-write lock has them at the lock key, so that
 * it and an exclusive lock of the same name exclude each other
 * @param queue who waits for permits
 * @param state what is known of both
 * @param own a semaphore's limit if an operator has set one, or a read-write lock's last
 * fencing token, which it shares with the exclusive lock of the same name
 * @param rivals the queue for the exclusive lock of the same name, with which it shares
 * one order; {@code null} of a semaphore
 * @since 0.1.0
 */
public record PermitKeys(String holders, String queue, String state, String own, @Nullable String rivals) {

	/**
	 * Return the keys of a semaphore or a read-write lock.
	 * @param kind which
	 * @param key what it is called in Redis
	 * @param cluster whether Redis is a cluster
	 * @return the keys
	 * @throws StoreCommandException as {@link RedisKeys#beside} does
	 */
	public static PermitKeys of(Kind kind, String key, boolean cluster) {
		return (kind == Kind.SEMAPHORE) ? ofSemaphore(key, cluster) : ofReadWriteLock(key, cluster);
	}

	/**
	 * Return the keys of a semaphore. No two semaphores have one in common.
	 * @param semaphore what it is called in Redis, where nothing is at this key itself
	 * @param cluster whether Redis is a cluster
	 * @return the keys
	 * @throws StoreCommandException as {@link RedisKeys#beside} does
	 */
	public static PermitKeys ofSemaphore(String semaphore, boolean cluster) {
		String beside = RedisKeys.beside(semaphore, cluster);
		return new PermitKeys(beside + RedisKeys.HOLDERS, beside + RedisKeys.QUEUE, beside + RedisKeys.STATE,
				beside + RedisKeys.LIMIT, null);
	}

	/**
	 * Return the keys of a read-write lock.
	 * @param lock the lock key
	 * @param cluster whether Redis is a cluster
	 * @return the keys
	 * @throws StoreCommandException as {@link RedisKeys#beside} does
	 */
	public static PermitKeys ofReadWriteLock(String lock, boolean cluster) {
		String beside = RedisKeys.beside(lock, cluster);
		return new PermitKeys(lock, beside + RedisKeys.READ_WRITE_QUEUE, beside + RedisKeys.READ_WRITE_STATE,
				beside + RedisKeys.FENCE, beside + RedisKeys.QUEUE);
	}

	/**
	 * Return the KEYS of a script.
	 * @return all of them
	 */
	public byte[][] toBytes() {
		return (this.rivals != null) ? RedisKeys.bytes(this.holders, this.queue, this.state, this.own, this.rivals)
				: RedisKeys.bytes(this.holders, this.queue, this.state, this.own);
	}

}
