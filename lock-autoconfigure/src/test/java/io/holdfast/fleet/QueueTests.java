package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Order of waiting instances, for locks and permits.
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

	@Slow
	@Test
	@DisplayName("S11 Requests for several permits are served in their order, as soon as they fit: as in a model, in"
			+ " many rounds")
	void firstInFirstOutAsTheyFit() {
		long seed = System.nanoTime();
		Random random = new Random(seed);
		for (int round = 0; round < 8; round++) {
			serveAsTheyFit(6, random, "seed " + seed + ", round " + round);
		}
	}

	/** Serve ten requests of four instances, all of which fit into the queue. */
	private void serveAsTheyFit(int limit, Random random, String description) {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, limit).waitTime(Fleet.PATIENCE);
		PermitLease all = fleet.semaphores(holder).acquire(request.permits(limit));
		List<Turn> waiting = new ArrayList<>();
		Map<Turn, Integer> permits = new HashMap<>();
		for (int i = 0; i < 10; i++) {
			int count = 1 + random.nextInt(3);
			waiting.add(Turn.of(fleet.semaphores(waiters.get(i % 4)), request.permits(count)));
			fleet.awaitWaitingForPermits(this.key, i + 1);
			permits.put(waiting.get(i), count);
		}
		all.release();
		List<Turn> holding = new ArrayList<>();
		int free = limit;
		while (!waiting.isEmpty() || !holding.isEmpty()) {
			while (!waiting.isEmpty() && permits.get(waiting.get(0)) <= free) {
				Turn next = waiting.remove(0);
				next.awaitGranted();
				free -= permits.get(next);
				holding.add(next);
			}
			assertThat(waiting).as("the later requests, %d free, %s", free, description).noneMatch(Turn::isGranted);
			Turn done = holding.remove(random.nextInt(holding.size()));
			done.release();
			free += permits.get(done);
		}
	}

	private LockRequest request() {
		return LockRequest.of(this.key).waitTime(Fleet.PATIENCE);
	}

	/** The release grants the request, not only its next poll. */
	private static void assertServed(Attempt<LockLease> attempt, LockLease lease) {
		assertThat(attempt.isDone()).isFalse();
		lease.release();
		attempt.get(Fleet.PROMPT).release();
	}

}
