package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import io.holdfast.Lease;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.Idleness;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Waits for many semaphores at the same time cost no thread, no channel and no connection
 * each, and nothing after giving up.
 */
@WithRedis
@Slow
class ManyKeysTests {

	private static final int KEYS = 10_000;

	private static final Duration LEASE = Duration.ofMinutes(10);

	/** For thousands of commands, on a busy machine. */
	private static final Duration LONG = Duration.ofSeconds(60);

	/** So that the test measures waits, not repeated commands. */
	private static final String[] PATIENT = { "holdfast.redis.command-timeout=60s",
			"holdfast.wake-up.handoff-timeout=60s" };

	@Test
	@DisplayName("F21 10,000 waits for locks and semaphores are given up: threads, channels and connections as before,"
			+ " the engine idle, nothing in Redis")
	void givenUp(TestRedis redis) {
		try (Fleet fleet = Fleet.on(redis, redis.startServer())) {
			Instance holder = fleet.start(PATIENT);
			Instance waiter = fleet.start(PATIENT);
			fleet.awaitListening(2);
			// Opens lazy resources before the count.
			acquire(holder, 2).forEach((lease) -> lease.join().close());
			acquire(waiter, 2).forEach((lease) -> lease.join().close());
			long threads = threads();
			int connections = fleet.connections();

			List<CompletableFuture<? extends Lease>> held = acquire(holder, KEYS);
			CompletableFuture.allOf(held.toArray(CompletableFuture[]::new)).join();
			List<CompletableFuture<? extends Lease>> waiting = acquire(waiter, KEYS);
			await("all in their queues").atMost(LONG).until(() -> queues(fleet) == KEYS);
			assertThat(waiting).noneMatch(CompletableFuture::isDone);
			// Threads for the callbacks of grants end when they are idle.
			await("threads as before, while waiting").atMost(LONG).until(() -> threads() <= threads);
			assertThat(fleet.channels()).as("channels while waiting").isEqualTo(2);
			assertThat(fleet.connections()).as("connections while waiting").isEqualTo(connections);

			waiting.forEach((wait) -> assertThat(wait.cancel(true)).isTrue());
			await("all given up").atMost(LONG).until(() -> Idleness.of(waiter.locks()) && queues(fleet) == 0);
			assertThat(held).allMatch((lease) -> lease.join().isHeld());
			held.forEach((lease) -> lease.join().releaseAsync());
			await("all released").atMost(LONG).until(() -> Idleness.of(holder.locks()));
			fleet.awaitNothingLeft();
			await("threads as before").atMost(LONG).until(() -> threads() <= threads);
			assertThat(fleet.channels()).as("channels").isEqualTo(2);
			assertThat(fleet.connections()).as("connections").isEqualTo(connections);
		}
	}

	/** As many locks as semaphores. */
	private static List<CompletableFuture<? extends Lease>> acquire(Instance instance, int keys) {
		return IntStream.range(0, keys).<CompletableFuture<? extends Lease>>mapToObj((i) -> {
			if (i % 2 == 0) {
				return instance.locks().acquireAsync(LockRequest.of("key" + i).waitForever().leaseTime(LEASE));
			}
			return instance.semaphores().acquireAsync(SemaphoreRequest.of("key" + i, 1).waitForever().leaseTime(LEASE));
		}).toList();
	}

	private static int queues(Fleet fleet) {
		return fleet.observer().keys("*:queue").size();
	}

	/** Return this process' threads, without the thread that polls in tests. */
	private static long threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> !thread.getName().startsWith("awaitility"))
			.count();
	}

}
