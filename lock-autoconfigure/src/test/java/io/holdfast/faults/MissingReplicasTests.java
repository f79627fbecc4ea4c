package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.LeaseStoreException;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Redis lacks replicas for writes ({@code min-replicas-to-write}).
 */
@WithRedis
class MissingReplicasTests {

	private static final String KEY = "missing-replicas";

	private final SentinelRedis redis;

	private final Fleet fleet;

	private final Instance instance;

	private final Instance other;

	MissingReplicasTests(TestRedis redis) {
		this.redis = redis.startSentinel(2);
		this.redis.master().run((commands) -> commands.configSet("min-replicas-to-write", "2"));
		this.fleet = Fleet.on(redis, this.redis);
		this.instance = this.fleet.start();
		this.other = this.fleet.start();
		this.fleet.awaitListening(2);
	}

	private void mend() {
		this.redis.mendReplication();
		await("replicas back").atMost(SOON)
			.until(() -> this.redis.master()
				.run((commands) -> commands.info("replication"))
				.contains("min_slaves_good_slaves:2"));
	}

	private static void assertRefused(ThrowingCallable use) {
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(use).withMessageContaining("NOREPLICAS");
	}

	@Slow
	@Test
	@DisplayName("F29 Missing replicas: requests fail with a clear error, no caller waits, and requests work when"
			+ " replicas are back")
	void acquire() {
		this.redis.cutReplication();
		for (Pool pool : Pool.values()) {
			PoolRequest request = new PoolRequest(pool, pool.key(KEY)).waitTime(SOON);
			assertRefused(() -> request.acquire(this.instance));
			assertRefused(() -> request.tryAcquire(this.instance));
		}
		mend();
		new Claims(this.fleet, KEY, SOON, this.instance).waitedForBy(this.other).assertHandedOver();
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("F29 Missing for less than a lease: leases and waits go on as before")
	void shorterThanTheLease() {
		Claims claims = new Claims(this.fleet, KEY, Duration.ofSeconds(6), this.instance).waitedForBy(this.other);
		this.redis.cutReplication();
		await("a renewal refused").atMost(SOON)
			.until(() -> this.fleet.timeToLive(KEY).compareTo(Duration.ofMillis(3500)) < 0);
		mend();
		claims.awaitRenewed();
		claims.assertHeld();
		claims.assertHandedOver();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F29 Missing at the release: the release fails, and is repeated when replicas are back, long before"
			+ " the lease ends")
	void release() {
		Duration leaseTime = Duration.ofMinutes(5);
		Claims claims = new Claims(this.fleet, KEY, leaseTime, this.instance).waitedForBy(this.other);
		this.redis.cutReplication();
		claims.assertReleaseRefused();
		mend();
		claims.assertGranted();
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("F29 Missing for longer than a lease: lost at its end, and granted to the waiter when replicas are"
			+ " back")
	void longerThanTheLease() throws InterruptedException {
		Claims claims = new Claims(this.fleet, KEY, Duration.ofSeconds(3), this.instance).waitedForBy(this.other);
		this.redis.cutReplication();
		claims.assertLostWithin(Duration.ofMillis(3500));
		mend();
		claims.assertGranted();
		this.fleet.awaitNothingLeft();
	}

}
