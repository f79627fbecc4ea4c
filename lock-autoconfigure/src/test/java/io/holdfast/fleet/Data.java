package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

/**
 * Plain values in Redis that nothing protects but the lock: not atomic on purpose.
 *
 * @param template the access to Redis
 * @param keyPrefix the test's prefix
 */
record Data(StringRedisTemplate template, String keyPrefix) {

	private static final long PAUSE = TimeUnit.MICROSECONDS.toNanos(500);

	/** Keeps the highest fence of all writes, and refuses lower fences. */
	private static final RedisScript<Boolean> FENCED_WRITE = RedisScript.of("""
			local highest = tonumber(redis.call('HGET', KEYS[1], 'fence') or 0)
			if tonumber(ARGV[1]) < highest then
				return false
			end
			redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
			return true
			""", Boolean.class);

	static String key(String keyPrefix, String name) {
		return "data:" + keyPrefix + name;
	}

	long get(String name) {
		String value = this.template.opsForValue().get(key(this.keyPrefix, name));
		return (value != null) ? Long.parseLong(value) : 0;
	}

	void set(String name, long value) {
		this.template.opsForValue().set(key(this.keyPrefix, name), Long.toString(value));
	}

	/** Read, pause, write: of two simultaneous additions one is lost. */
	void add(String name, long summand) {
		long value = get(name);
		LockSupport.parkNanos(PAUSE);
		set(name, value + summand);
	}

	/** Increment a value under a lock of the same name. */
	Hold addLocked(LockService locks, String name, Duration leaseTime) {
		LockRequest request = LockRequest.of(name).leaseTime(leaseTime).waitTime(Fleet.PATIENCE);
		try (LockLease lease = locks.acquire(request)) {
			long from = System.nanoTime();
			add(name, 1);
			return new Hold(lease.fencingToken(), from, System.nanoTime());
		}
	}

	/**
	 * Write to a resource that checks fencing tokens.
	 * @return whether it accepted the write
	 */
	boolean writeFenced(String name, long fence, String value) {
		return this.template.execute(FENCED_WRITE, List.of(key(this.keyPrefix, name)), Long.toString(fence), value);
	}

	String readFenced(String name) {
		return String.valueOf(this.template.opsForHash().get(key(this.keyPrefix, name), "value"));
	}

}
