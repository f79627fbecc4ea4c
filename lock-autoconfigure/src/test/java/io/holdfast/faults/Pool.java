package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.Set;

import io.holdfast.Lease;

import org.springframework.data.redis.connection.DataType;
import org.springframework.data.redis.core.script.RedisScript;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Kind of resource, of which a request takes a share or all, and its state in Redis.
 */
enum Pool {

	/** An exclusive lock. A share is all. */
	LOCK,

	/** A lock with readers. An exclusive owner takes all. */
	READ_WRITE,

	/** A semaphore of {@link PoolRequest#LIMIT} permits. */
	SEMAPHORE;

	/** Kinds with several shares. */
	static final List<Pool> SHARED = List.of(READ_WRITE, SEMAPHORE);

	private static final RedisScript<Long> LEASE_LEFT = RedisScript.of("""
			if redis.call('TYPE', KEYS[1]).ok == 'string' then
			  return redis.call('PTTL', KEYS[1])
			end
			local time = redis.call('TIME')
			local now = time[1] * 1000 + math.floor(time[2] / 1000)
			-- Ended leases stay until the next acquisition.
			local first = redis.call('ZRANGEBYSCORE', KEYS[1], now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
			return first[2] and first[2] - now or 0
			""", Long.class);

	/** Return the number of shares that a test takes at the same time. */
	int shares() {
		return (this == LOCK) ? 1 : PoolRequest.LIMIT;
	}

	/** Return a key for this kind, where a test uses each kind. The lock has the name. */
	String key(String name) {
		return (this == LOCK) ? name : name + this;
	}

	/** Return the key of the holders in Redis. */
	String holdersKey(Fleet fleet, String key) {
		return (this == SEMAPHORE) ? fleet.semaphoreKey(key, "holders") : fleet.lockKey(key);
	}

	/** Return the key of the waiters in Redis. */
	String queueKey(Fleet fleet, String key) {
		return (this == SEMAPHORE) ? fleet.semaphoreKey(key, "queue") : fleet.queueKey(key);
	}

	/** Return the key of a semaphore's state, or of a lock's last fence. */
	String stateKey(Fleet fleet, String key) {
		return (this == SEMAPHORE) ? fleet.semaphoreKey(key, "state") : "{" + fleet.lockKey(key) + "}:fence";
	}

	/** Return the number of leases in Redis. */
	long holders(Fleet fleet, String key) {
		String where = holdersKey(fleet, key);
		if (fleet.observer().type(where) == DataType.STRING) {
			return 1;
		}
		Set<String> holders = fleet.observer().opsForZSet().range(where, 0, -1);
		return (holders != null) ? holders.size() : 0;
	}

	/**
	 * Return the remaining time of the next lease to end, by Redis; zero without leases.
	 */
	Duration leaseLeft(Fleet fleet, String key) {
		Long left = fleet.observer().execute(LEASE_LEFT, List.of(holdersKey(fleet, key)));
		return Duration.ofMillis((left != null) ? left : 0);
	}

	/** Wait until the queue in Redis has the given number of requests. */
	void awaitQueued(Fleet fleet, String key, int requests) {
		await(requests + " in the queue of " + key).atMost(SOON)
			.until(() -> fleet.observer().opsForZSet().zCard(queueKey(fleet, key)), (size) -> size == requests);
	}

	/**
	 * Check that the whole pool can be acquired, exactly once, by each of some instances,
	 * long before a lease ends; and that no keys stay.
	 */
	void assertAllFree(Fleet fleet, String key, Instance... instances) {
		PoolRequest request = new PoolRequest(this, key).waitTime(SOON);
		for (Instance instance : instances) {
			try (Lease lease = request.all().acquire(instance)) {
				for (Instance any : instances) {
					assertThat(request.tryAcquire(any)).as("more than the pool").isEmpty();
				}
				assertThat(lease.isHeld()).isTrue();
			}
		}
		fleet.awaitNothingLeft();
	}

}
