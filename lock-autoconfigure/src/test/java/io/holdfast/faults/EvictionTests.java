package io.holdfast.faults;

import java.time.Duration;
import java.util.stream.Stream;

import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Redis evicts keys that were not used lately, to make room for other keys.
 */
@WithRedis
@Slow
class EvictionTests {

	private static final String KEY = "eviction";

	/** So long that a loss within a fraction of the lease was noticed by a renewal. */
	private static final Duration LEASE = Duration.ofSeconds(9);

	private final Fleet fleet;

	private int fillers;

	EvictionTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, redis.startServer("--maxmemory", "5mb", "--maxmemory-policy", "allkeys-lru"));
	}

	private boolean isEvicted() {
		this.fleet.observer().opsForValue().set("filler:" + this.fillers++, "x".repeat(200_000));
		return Stream.of(Pool.values()).noneMatch((pool) -> pool.holders(this.fleet, pool.key(KEY)) > 0);
	}

	@Test
	@DisplayName("F33 Held keys are evicted: the risk is logged before, the loss noticed within a renewal period, and"
			+ " waiters are granted")
	void evicted() throws InterruptedException {
		Instance instance = this.fleet.start();
		// Not before the eviction is over, or a new grant would be evicted, too.
		Instance other = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		this.fleet.awaitListening(2);
		assertThat(instance.engine().examine()).succeedsWithin(SOON)
			.asString()
			.contains("may evict locks and permits while they are held");
		Claims claims = new Claims(this.fleet, KEY, LEASE, instance).waitedForBy(other);
		await("eviction").atMost(SOON).pollInterval(Duration.ofMillis(1)).until(this::isEvicted);
		this.fleet.observer().delete(this.fleet.observer().keys("filler:*"));
		// A second more for busy machines.
		claims.assertLostWithin(LEASE.dividedBy(3).plusMillis(1500));
		claims.assertGranted();
		this.fleet.awaitNothingLeft();
	}

}
