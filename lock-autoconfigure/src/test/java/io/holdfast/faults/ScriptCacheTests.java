package io.holdfast.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Redis forgets the scripts, again and again.
 */
@WithRedis
class ScriptCacheTests {

	private static final int THREADS = 3;

	private static final int ROUNDS = 150;

	private final Fleet fleet;

	/** Unguarded but for the lock. */
	private int counter;

	private long lastFence;

	private final AtomicInteger permits = new AtomicInteger();

	private final AtomicInteger readersAndWriters = new AtomicInteger();

	ScriptCacheTests(TestRedis redis) {
		RedisServer server = redis.startServer();
		this.fleet = Fleet.on(redis, server);
	}

	@Test
	@DisplayName("F15 SCRIPT FLUSH in a loop under load is invisible")
	void scriptFlush() {
		runWhileScriptsAreFlushed(this::useLock);
		assertThat(this.counter).isEqualTo(2 * THREADS * ROUNDS);
	}

	@Slow
	@Test
	@DisplayName("F15 SCRIPT FLUSH in a loop under load is invisible to those who use permits, read and write")
	void scriptFlushWithPermits() {
		runWhileScriptsAreFlushed((instance) -> usePermits(instance, new Random()));
		assertThat(this.permits).hasValue(0);
		assertThat(this.readersAndWriters).hasValue(0);
	}

	private void runWhileScriptsAreFlushed(Consumer<Instance> work) {
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
		for (int i = 0; i < 2; i++) {
			Instance instance = this.fleet.start();
			for (int j = 0; j < THREADS; j++) {
				workers.add(Instance.inBackground(() -> {
					work.accept(instance);
					return true;
				}));
			}
		}
		assertThat(CompletableFuture.allOf(workers.toArray(CompletableFuture[]::new)))
			.succeedsWithin(SOON.multipliedBy(3));
		loaded.set(false);
		assertThat(flushes).succeedsWithin(SOON).satisfies((count) -> assertThat(count).isGreaterThan(100));
		this.fleet.awaitNothingLeft();
	}

	private void useLock(Instance instance) {
		for (int i = 0; i < ROUNDS; i++) {
			LockLease lease = instance.acquire(LockRequest.of("scripts").waitForever());
			int before = this.counter;
			assertThat(lease.fencingToken()).isGreaterThan(this.lastFence);
			this.lastFence = lease.fencingToken();
			if (i % 10 == 0) {
				lease.extend(SOON.multipliedBy(4));
			}
			this.counter = before + 1;
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}
	}

	private void usePermits(Instance instance, Random random) {
		SemaphoreRequest permits = SemaphoreRequest.of("scripts", 4).waitForever();
		LockRequest lock = LockRequest.of("scripts").waitForever();
		for (int i = 0; i < ROUNDS / 4; i++) {
			int count = 1 + random.nextInt(3);
			use(instance.semaphores().acquire(permits.permits(count)), count, this.permits, 4);
			boolean write = random.nextInt(4) == 0;
			use(instance.acquire(lock.mode(write ? LockMode.EXCLUSIVE : LockMode.READ)), write ? 99 : 1,
					this.readersAndWriters, 99);
		}
	}

	private static void use(Lease lease, int count, AtomicInteger inUse, int limit) {
		assertThat(inUse.addAndGet(count)).isLessThanOrEqualTo(limit);
		lease.extend(SOON.multipliedBy(4));
		inUse.addAndGet(-count);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
	}

}
