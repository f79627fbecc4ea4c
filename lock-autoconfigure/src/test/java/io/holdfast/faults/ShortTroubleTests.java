package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Redis is there, and cannot serve a request for a moment.
 */
@WithRedis
class ShortTroubleTests {

	private static final LockRequest LOCK = LockRequest.of("trouble").waitTime(SOON);

	private static final SemaphoreRequest PERMIT = SemaphoreRequest.of("trouble", 1).waitTime(SOON);

	private final Fleet fleet;

	private final Instance instance;

	ShortTroubleTests(TestRedis redis) {
		RedisServer server = redis.startServer();
		this.fleet = Fleet.on(redis, server);
		this.instance = this.fleet.start();
		this.instance.warmUp();
	}

	enum Trouble {

		/** Nothing that takes memory is accepted. */
		FULL_MEMORY {

			@Override
			void begin(Fleet fleet) {
				fleet.onServer((connection) -> connection.serverCommands().setConfig("maxmemory", "1"));
			}

			@Override
			void end(Fleet fleet) {
				fleet.onServer((connection) -> connection.serverCommands().setConfig("maxmemory", "0"));
			}

		},

		/** As where a replica takes over, and is not told yet. */
		READ_ONLY {

			@Override
			void begin(Fleet fleet) {
				fleet.onServer((connection) -> connection.execute("REPLICAOF", "127.0.0.1".getBytes(), "1".getBytes()));
			}

			@Override
			void end(Fleet fleet) {
				fleet.onServer((connection) -> connection.execute("REPLICAOF", "NO".getBytes(), "ONE".getBytes()));
			}

		};

		abstract void begin(Fleet fleet);

		abstract void end(Fleet fleet);

	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("a request that waits outlasts it, one that does not wait fails at once")
	void requestThatWaits(Trouble trouble) {
		trouble.begin(this.fleet);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> this.instance.tryAcquire("trouble"));
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> this.instance.semaphores().tryAcquire(SemaphoreRequest.of("trouble", 1)));
		List<CompletableFuture<? extends Lease>> waiting = List.of(this.instance.acquireInBackground(LOCK),
				this.instance.acquireInBackground(PERMIT));
		await("that they go on").during(Duration.ofMillis(500))
			.atMost(SOON)
			.until(() -> waiting.stream().noneMatch(CompletableFuture::isDone));
		trouble.end(this.fleet);
		for (CompletableFuture<? extends Lease> one : waiting) {
			assertThat(one).succeedsWithin(SOON).satisfies((lease) -> assertThat(lease.isHeld()).isTrue());
			one.join().release();
		}
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("trouble that stays is told after the outage patience, long before the wait is over")
	void troubleThatStays() {
		Instance patient = this.fleet.start("holdfast.redis.outage-patience=500ms");
		Trouble.FULL_MEMORY.begin(this.fleet);
		long start = System.nanoTime();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> patient.acquire(LOCK.waitTime(SOON.multipliedBy(6))))
			.withMessageContaining("out of memory");
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(500), SOON);
		Trouble.FULL_MEMORY.end(this.fleet);
		this.fleet.awaitNothingLeft();
	}

}
