package io.holdfast.sample;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.stereotype.Component;

/**
 * A book that one writer at a time may write into. It keeps the highest fencing token
 * that it has seen, and refuses entries with a lower one: those of writers who slept
 * through the end of their lease.
 */
@Component
class Ledger {

	/** The lock that its writers hold. */
	static final String LOCK = "ledger";

	private static final String KEY = "shop:ledger";

	private static final Duration KEPT = Duration.ofHours(1);

	/** In one step, so that no two writers both find themselves the latest. */
	private static final RedisScript<String> WRITE = RedisScript.of("""
			local last = redis.call('HGET', KEYS[1], 'fence')
			if last and tonumber(ARGV[1]) < tonumber(last) then
				return last
			end
			redis.call('HSET', KEYS[1], 'fence', ARGV[1])
			redis.call('HINCRBY', KEYS[1], 'entries', 1)
			redis.call('EXPIRE', KEYS[1], ARGV[2])
			return nil
			""", String.class);

	private final StringRedisTemplate redis;

	Ledger(StringRedisTemplate redis) {
		this.redis = redis;
	}

	/**
	 * Write an entry while holding the lock, over all instances.
	 * @return whether the ledger took it
	 */
	@DistributedLock(name = LOCK, waitTime = "30s")
	public boolean writeInTurn() {
		return write(LockLease.current().fencingToken()) == null;
	}

	/**
	 * Write an entry, whether the lock is held or not.
	 * @param fence the fencing token of the lease under which it is written
	 * @return the higher token for which it was refused, or {@code null} if it was
	 * written
	 */
	public @Nullable Long write(long fence) {
		String higher = this.redis.execute(WRITE, List.of(KEY), Long.toString(fence), Long.toString(KEPT.toSeconds()));
		return (higher != null) ? Long.valueOf(higher) : null;
	}

	/**
	 * Read the highest fencing token that an entry was written with.
	 * @return the token, 0 if there is none
	 */
	public long lastFence() {
		Object fence = this.redis.opsForHash().get(KEY, "fence");
		return (fence != null) ? Long.parseLong(fence.toString()) : 0;
	}

}
