package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Order of waiting instances, and waiters that leave.
 */
class QueueTests extends FleetTestCase {

	private static final String[] STRICT_ORDER = TestApplication.STRICT_ORDER.toArray(String[]::new);

	private static LockService holder;

	private static List<LockService> waiters;

	private static Worker mortal;

	@BeforeAll
	static void start() {
		mortal = fleet.startWorker(STRICT_ORDER).awaitReady();
		holder = fleet.start(STRICT_ORDER);
		waiters = fleet.start(4, STRICT_ORDER);
	}

	@Test
	@DisplayName("Four instances that queue are served in their order, in many rounds and orders")
	void firstInFirstOutManyTimes() {
		long seed = System.nanoTime();
		Random random = new Random(seed);
		List<Integer> order = new ArrayList<>(List.of(0, 1, 2, 3));
		for (int round = 0; round < 25; round++) {
			Collections.shuffle(order, random);
			serveInOrder(order);
		}
	}

	private void serveInOrder(List<Integer> order) {
		LockLease last = holder.acquire(this.key);
		List<Attempt<LockLease>> attempts = new ArrayList<>();
		for (int i : order) {
			attempts.add(Attempt.start(waiters.get(i), request()));
			fleet.awaitWaiting(this.key, attempts.size());
			assertThat(holder.status(this.key).waiting()).isEqualTo(attempts.size());
		}
		for (int i = 0; i < attempts.size(); i++) {
			last.release();
			LockLease lease = attempts.get(i).get(Fleet.PROMPT);
			assertThat(attempts.subList(i + 1, attempts.size())).as("the later waiters in %s", order)
				.noneMatch(Attempt::isDone);
			assertThat(lease.fencingToken()).isGreaterThan(last.fencingToken());
			last = lease;
		}
		last.release();
	}

	@Test
	@DisplayName("A waiter that times out passes its turn on: the next waiter is served promptly")
	void timedOutBeforeAnother() {
		LockLease lease = holder.acquire(this.key);
		Attempt<LockLease> first = Attempt.start(waiters.get(0), request().waitTime(Duration.ofSeconds(2)));
		fleet.awaitWaiting(this.key, 1);
		Attempt<LockLease> second = Attempt.start(waiters.get(1), request());
		assertReason(first, Reason.TIMED_OUT);
		fleet.awaitWaiting(this.key, 1);
		assertServed(second, lease);
	}

	@Test
	@DisplayName("A waiter that was cancelled has left nothing in Redis and passes its turn on")
	void cancelled() {
		LockLease lease = holder.acquire(this.key);
		CompletableFuture<LockLease> first = waiters.get(0).acquireAsync(request());
		fleet.awaitWaiting(this.key, 1);
		first.cancel(true);
		awaitNoQueue();
		CompletableFuture<LockLease> again = waiters.get(0).acquireAsync(request());
		fleet.awaitWaiting(this.key, 1);
		Attempt<LockLease> second = Attempt.start(waiters.get(1), request());
		fleet.awaitWaiting(this.key, 2);
		again.cancel(true);
		assertServed(second, lease);
	}

	@Test
	@DisplayName("A killed first waiter is skipped at once: the next waiter is served promptly")
	void killedBeforeAnother() {
		LockLease lease = holder.acquire(this.key);
		mortal.acquire("first", this.key, Duration.ofSeconds(30), Duration.ofMinutes(1));
		fleet.awaitWaiting(this.key, 1);
		Attempt<LockLease> second = Attempt.start(waiters.get(1), request());
		fleet.awaitWaiting(this.key, 2);
		mortal.kill();
		assertServed(second, lease);
	}

	@Test
	@DisplayName("An instance with many waiters stands once in the queue, and keeps its place when its first waiter"
			+ " leaves")
	void keepsPlace() {
		LockLease lease = holder.acquire(this.key);
		Attempt<LockLease> first = Attempt.start(waiters.get(0), request());
		fleet.awaitWaiting(this.key, 1);
		CompletableFuture<LockLease> local = waiters.get(0).acquireAsync(request());
		Attempt<LockLease> other = Attempt.start(waiters.get(1), request());
		fleet.awaitWaiting(this.key, 2);
		String place = place(0);
		first.interrupt();
		assertReason(first, Reason.INTERRUPTED);
		assertThat(place(0)).as("first in the queue").isEqualTo(place);
		assertThat(holder.status(this.key).waiting()).isEqualTo(2);
		lease.release();
		LockLease next = local.orTimeout(Fleet.PROMPT.toMillis(), TimeUnit.MILLISECONDS).join();
		assertThat(other.isDone()).isFalse();
		assertServed(other, next);
	}

	@Test
	@DisplayName("A waiting instance that is stopped fails its waiter, leaves nothing and passes its turn on")
	void stopped() {
		LockService mortalService = fleet.start(STRICT_ORDER);
		LockLease lease = holder.acquire(this.key);
		Attempt<LockLease> first = Attempt.start(mortalService, request());
		fleet.awaitWaiting(this.key, 1);
		Attempt<LockLease> second = Attempt.start(waiters.get(0), request());
		fleet.awaitWaiting(this.key, 2);
		fleet.stop(mortalService);
		assertReason(first, Reason.SHUTDOWN);
		fleet.awaitWaiting(this.key, 1);
		assertServed(second, lease);
	}

	@Test
	@DisplayName("S7 A request without waiting fails at once; a waiter is woken up by a message, not by polling")
	void wokenUp() {
		// Polling would come far too late.
		List<LockService> services = fleet.start(2, "holdfast.wake-up.retry-interval=60s",
				"holdfast.wake-up.handoff-timeout=30s");
		LockLease lease = services.get(0).acquire(this.key);
		assertThat(services.get(1).tryAcquire(this.key)).isEmpty();
		Attempt<LockLease> attempt = Attempt.start(services.get(1), LockRequest.of(this.key));
		fleet.awaitWaiting(this.key, 1);
		assertServed(attempt, lease);
	}

	private LockRequest request() {
		return LockRequest.of(this.key).waitTime(Fleet.PATIENCE);
	}

	private String place(int index) {
		return fleet.template().opsForZSet().range(fleet.queueKey(this.key), index, index).iterator().next();
	}

	private void awaitNoQueue() {
		await("no queue").atMost(Fleet.PROMPT).until(() -> !fleet.template().hasKey(fleet.queueKey(this.key)));
	}

	private static void assertReason(Attempt<?> attempt, Reason reason) {
		assertThat(attempt.failure()).isInstanceOfSatisfying(LockNotAcquiredException.class,
				(ex) -> assertThat(ex.getReason()).isEqualTo(reason));
	}

	/** The release grants the request, not only its next poll. */
	private static void assertServed(Attempt<LockLease> attempt, LockLease lease) {
		assertThat(attempt.isDone()).isFalse();
		lease.release();
		attempt.get(Fleet.PROMPT).release();
	}

}
