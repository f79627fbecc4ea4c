package io.holdfast.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
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

	ScriptCacheTests(TestRedis redis) {
		RedisServer server = redis.startServer();
		this.fleet = Fleet.on(redis, server);
	}

	@AfterEach
	void close() {
		this.fleet.close();
	}

	@Test
	@DisplayName("F15 SCRIPT FLUSH in a loop under load is invisible")
	void scriptFlush() {
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
				workers.add(Instance.inBackground(() -> work(instance)));
			}
		}
		assertThat(CompletableFuture.allOf(workers.toArray(CompletableFuture[]::new)))
			.succeedsWithin(SOON.multipliedBy(3));
		loaded.set(false);
		assertThat(flushes).succeedsWithin(SOON).satisfies((count) -> assertThat(count).isGreaterThan(100));
		assertThat(this.counter).isEqualTo(2 * THREADS * ROUNDS);
		this.fleet.awaitNothingLeft();
	}

	private int work(Instance instance) {
		for (int i = 0; i < ROUNDS; i++) {
			LockLease lease = instance.acquire(LockRequest.of("scripts").waitForever());
			int before = this.counter;
			assertThat(lease.fence()).isGreaterThan(this.lastFence);
			this.lastFence = lease.fence();
			if (i % 10 == 0) {
				lease.renew(SOON.multipliedBy(4));
			}
			this.counter = before + 1;
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}
		return ROUNDS;
	}

}
