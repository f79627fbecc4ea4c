package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;

import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Order of requests for permits, over several contexts and JVMs.
 */
@Slow
class PermitQueueTests extends FleetTestCase {

	private static final String[] STRICT_ORDER = TestApplication.STRICT_ORDER.toArray(String[]::new);

	private static SemaphoreService holder;

	private static List<SemaphoreService> contexts;

	private static List<Worker> workers;

	@BeforeAll
	static void start() {
		workers = List.of(fleet.startWorker(STRICT_ORDER), fleet.startWorker(STRICT_ORDER));
		workers.forEach(Worker::awaitReady);
		holder = fleet.startSemaphores(1, STRICT_ORDER).get(0);
		contexts = fleet.startSemaphores(3, STRICT_ORDER);
	}

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

	/** Serve ten requests of five instances, all of which fit into the queue. */
	private void serveAsTheyFit(int limit, Random random, String description) {
		PermitLease all = holder.acquire(request(limit, limit));
		List<Turn> waiting = new ArrayList<>();
		Map<Turn, Integer> permits = new HashMap<>();
		for (int i = 0; i < 10; i++) {
			int count = 1 + random.nextInt(3);
			waiting.add(ask(i + 1, i % 5, request(limit, count), description + ", " + i));
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

	@Test
	@DisplayName("A big request that times out lets the requests behind it in at once")
	void bigGivesUp() {
		PermitLease lease = holder.acquire(request(3, 2));
		Attempt<PermitLease> timed = Attempt.start(contexts.get(0), request(3, 3).waitTime(Duration.ofSeconds(2)));
		fleet.awaitWaitingForPermits(this.key, 1);
		Turn behind = ask(2, 1, request(3, 1));
		assertReason(timed, Reason.TIMED_OUT);
		behind.awaitGranted();
		behind.release();
		lease.release();
	}

	@Test
	@DisplayName("A waiting instance that is stopped fails its waiters, leaves nothing, and lets the requests behind"
			+ " it in")
	void stopped() {
		LockService mortal = fleet.start(STRICT_ORDER);
		PermitLease lease = holder.acquire(request(3, 2));
		Attempt<PermitLease> big = Attempt.start(fleet.semaphores(mortal), request(3, 3));
		fleet.awaitWaitingForPermits(this.key, 1);
		Turn behind = ask(2, 0, request(3, 1));
		fleet.stop(mortal);
		assertReason(big, Reason.SHUTDOWN);
		behind.awaitGranted();
		behind.release();
		lease.release();
	}

	@Test
	@DisplayName("No request for many permits starves beside a stream of small requests")
	void bigDoesNotStarve() throws Exception {
		Notes notes = new Notes();
		SemaphoreRequest small = SemaphoreRequest.of(this.key, 4).waitTime(Fleet.PATIENCE);
		workers.forEach((worker) -> worker.use(this.key, small, 4, 60));
		AtomicBoolean done = new AtomicBoolean();
		Crowd crowd = new Crowd();
		for (SemaphoreService semaphores : contexts) {
			Crowd.Task once = Users.of(semaphores, small, 1, notes);
			crowd.add(3, () -> {
				while (!done.get()) {
					once.run();
				}
				once.run();
			});
		}
		List<Long> grantedAt = new ArrayList<>();
		crowd.add(1, () -> {
			try {
				await("small ones").atMost(Fleet.PATIENCE).until(() -> notes.holds().size() > 10);
				for (int i = 0; i < 10; i++) {
					Turn turn = Turn.of(holder, request(4, 4));
					grantedAt.add(turn.awaitGranted());
					turn.release();
				}
			}
			finally {
				done.set(true);
			}
		});
		crowd.run();
		workers.forEach((worker) -> worker.awaitUsed(this.key));
		assertThat(grantedAt).hasSize(10)
			.allSatisfy((at) -> assertThat(notes.holds()).as("small ones, before and after")
				.anyMatch((hold) -> hold.until() < at)
				.anyMatch((hold) -> hold.from() > at));
		assertThat(notes.refusals()).isZero();
	}

	private SemaphoreRequest request(int limit, int permits) {
		return SemaphoreRequest.of(this.key, limit).permits(permits).waitTime(Fleet.PATIENCE);
	}

	private Turn ask(int position, int instance, SemaphoreRequest request) {
		return ask(position, instance, request, this.key + position);
	}

	/**
	 * Queue a request at the given place: the instances are three contexts and two JVMs.
	 */
	private Turn ask(int position, int instance, SemaphoreRequest request, String name) {
		Turn turn = (instance < contexts.size()) ? Turn.of(contexts.get(instance), request)
				: Turn.of(workers.get(instance - contexts.size()), name.replace(' ', '-'), request);
		fleet.awaitWaitingForPermits(this.key, position);
		return turn;
	}

	private static void assertReason(Attempt<?> attempt, Reason reason) {
		assertThat(attempt.failure()).isInstanceOfSatisfying(PermitNotAcquiredException.class,
				(ex) -> assertThat(ex.getReason()).isEqualTo(reason));
	}

}
