package io.holdfast.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Redis forgets the scripts repeatedly.
 */
@WithRedis
class ScriptCacheTests {

	private static final int THREADS = 3;

	private static final int ROUNDS = 60;

	/**
	 * Parts of a resource: a multiple of the number of permits, and more than threads.
	 */
	private static final int ALL = 33 * PoolRequest.LIMIT;

	private final Fleet fleet;

	private final AtomicInteger inUse = new AtomicInteger();

	private long lastFence;

	ScriptCacheTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, redis.startServer());
	}

	@ParameterizedTest(name = "F15 SCRIPT FLUSH in a loop under load is invisible ({0})")
	@EnumSource
	void scriptFlush(Pool pool) {
		AtomicBoolean loaded = new AtomicBoolean(true);
		CompletableFuture<Integer> flushes = Instance.inBackground(() -> {
			int count = 0;
			while (loaded.get()) {
				this.fleet.onServer((connection) -> connection.scriptingCommands().scriptFlush());
				count++;
			}
			return count;
		});
		List<CompletableFuture<?>> workers = new ArrayList<>();
		for (Instance instance : List.of(this.fleet.start(), this.fleet.start())) {
			for (int i = 0; i < THREADS; i++) {
				workers.add(Instance.inBackground(() -> use(pool, instance)));
			}
		}
		assertThat(CompletableFuture.allOf(workers.toArray(CompletableFuture[]::new)))
			.succeedsWithin(SOON.multipliedBy(3));
		loaded.set(false);
		assertThat(flushes).succeedsWithin(SOON).satisfies((count) -> assertThat(count).isGreaterThan(100));
		this.fleet.awaitNothingLeft();
	}

	private int use(Pool pool, Instance instance) {
		PoolRequest share = new PoolRequest(pool, "scripts").waitTime(SOON.multipliedBy(3));
		for (int i = 0; i < ROUNDS; i++) {
			boolean all = pool == Pool.LOCK || ThreadLocalRandom.current().nextInt(4) == 0;
			int parts = all ? ALL : (pool == Pool.SEMAPHORE) ? ALL / PoolRequest.LIMIT : 1;
			Lease lease = (all ? share.all() : share).acquire(instance);
			assertThat(this.inUse.addAndGet(parts)).isLessThanOrEqualTo(ALL);
			if (all && lease instanceof LockLease lock) {
				assertThat(lock.fencingToken()).isGreaterThan(this.lastFence);
				this.lastFence = lock.fencingToken();
			}
			if (i % 10 == 0) {
				lease.extend(SOON.multipliedBy(12));
			}
			this.inUse.addAndGet(-parts);
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}
		return ROUNDS;
	}

}
