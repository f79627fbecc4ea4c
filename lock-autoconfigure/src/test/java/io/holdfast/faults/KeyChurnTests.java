package io.holdfast.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.engine.Idleness;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.awaitility.Awaitility.await;

/**
 * Keys that are used only once.
 */
@WithRedis
class KeyChurnTests {

	/** Number of keys; {@code -Dholdfast.test.keys=1000000} for more. */
	private static final int KEYS = Integer.getInteger("holdfast.test.keys", 8_000);

	private static final int AT_ONCE = 800;

	@Test
	@DisplayName("F47 Keys in turn: the engine forgets each key, and Redis keeps only the recent fences")
	void churn(TestRedis redis) {
		RedisServer server = redis.startServer();
		try (Fleet fleet = Fleet.on(redis, server)) {
			Instance instance = fleet.start("holdfast.lock.fence-retention=1s", "holdfast.redis.command-timeout=30s");
			for (int round = 0; round < KEYS / AT_ONCE; round++) {
				List<CompletableFuture<?>> uses = new ArrayList<>();
				for (int i = 0; i < AT_ONCE / 3; i++) {
					String key = "round" + round + "-" + i;
					for (Pool pool : Pool.values()) {
						uses.add(release(new PoolRequest(pool, pool.key(key)).acquireAsync(instance)));
					}
				}
				CompletableFuture.allOf(uses.toArray(CompletableFuture[]::new)).orTimeout(60, TimeUnit.SECONDS).join();
				await("engine idle").atMost(SOON).until(() -> Idleness.of(instance.locks()));
			}
			await("only what says that the instance is there").atMost(SOON)
				.until(() -> fleet.observer().keys("*").size() <= 1);
		}
	}

	private static CompletableFuture<?> release(CompletableFuture<? extends Lease> lease) {
		return lease.thenCompose(Lease::releaseAsync);
	}

}
