package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Sentinel replaces the master by a replica without the last writes. Double holds cannot
 * be prevented then; the checks are that the old holder does not go on for long, and has
 * the lower fence.
 */
@WithRedis
@Slow
class LostWritesTests {

	private static final String KEY = "lost-writes";

	/** So long that a loss within a fraction of the lease was noticed by a renewal. */
	private static final Duration LEASE = Duration.ofSeconds(9);

	private static final Duration RENEWAL_PERIOD = LEASE.dividedBy(3);

	private final SentinelRedis redis;

	private final Fleet fleet;

	LostWritesTests(TestRedis redis) {
		this.redis = redis.startSentinel(1);
		this.fleet = Fleet.on(redis, this.redis);
	}

	private static long fenceOf(Instance instance, String key) {
		try (LockLease lease = instance.acquire(LockRequest.of(key).waitTime(SOON))) {
			return lease.fencingToken();
		}
	}

	@ParameterizedTest(
			name = "F26 Replication is cut before the lock, then a fail-over: noticed within a renewal period, and fences grow (old master alive: {0})")
	@ValueSource(booleans = { false, true })
	void lockLost(boolean alive) throws InterruptedException {
		Instance instance = this.fleet.start();
		Instance other = this.fleet.start();
		this.fleet.awaitListening(2);
		long seen = fenceOf(instance, KEY);
		// As if the clock of the first master were an hour ahead.
		long ahead = seen + Duration.ofHours(1).toNanos() / 1000;
		this.fleet.observer()
			.opsForValue()
			.set("{" + this.fleet.lockKey("ahead") + "}:fence", Long.toString(ahead), Duration.ofHours(2));
		this.redis.cutReplication();
		for (int i = 0; i < 100; i++) {
			fenceOf(instance, KEY);
		}
		Claims claims = new Claims(this.fleet, KEY, LEASE, instance).waitedForBy(other);
		RedisServer old = this.redis.master();
		if (!alive) {
			old.kill();
		}
		this.redis.failOver();
		if (alive) {
			this.redis.awaitReplica(old);
		}
		// Some seconds more for a driver that has to connect again, and for busy
		// machines.
		claims.assertLostWithin(RENEWAL_PERIOD.plusMillis(2500));
		// With a fence above that of the lost lease, which the new master never saw.
		claims.assertGranted();
		assertThat(fenceOf(other, "ahead")).isEqualTo(ahead + 64);
		this.fleet.awaitListening(2);
		claims = new Claims(this.fleet, KEY, LEASE, other).waitedForBy(instance);
		claims.assertHandedOver();
		this.fleet.awaitNothingLeft();
	}

}
