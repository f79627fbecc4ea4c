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
 * The order in which requests for permits are served, of several contexts and JVMs.
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
	@DisplayName("S11 one permit is passed on in the order of the requests, over contexts and JVMs")
	void firstInFirstOut() {
		SemaphoreRequest one = request(1, 1);
		PermitLease lease = holder.acquire(one);
		List<Turn> turns = List.of(ask(1, 3, one), ask(2, 1, one), ask(3, 4, one), ask(4, 0, one), ask(5, 2, one));
		long releasedAt = System.nanoTime();
		lease.release();
		for (Turn turn : turns) {
			assertThat(turn.awaitGranted()).isGreaterThan(releasedAt);
			assertThat(turns.subList(turns.indexOf(turn) + 1, turns.size())).as("those behind")
				.noneMatch(Turn::isGranted);
			releasedAt = System.nanoTime();
			turn.release();
		}
	}

	@Test
	@DisplayName("S11 requests for several permits are served in their order, as soon as they fit: as a model says, in"
			+ " many rounds")
	void firstInFirstOutAsTheyFit() {
		long seed = System.nanoTime();
		Random random = new Random(seed);
		for (int round = 0; round < 8; round++) {
			serveAsTheyFit(6, random, "seed " + seed + ", round " + round);
		}
	}

	/** Ten requests of five instances, so that all of them fit into the queue. */
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
			assertThat(waiting).as("those behind, %d free, %s", free, description).noneMatch(Turn::isGranted);
			Turn done = holding.remove(random.nextInt(holding.size()));
			done.release();
			free += permits.get(done);
		}
	}

	@Test
	@DisplayName("F20 permits come back one by one: who needs several wakes when they are free, and small requests behind"
			+ " it do not pass it")
	void bigIsNotPassed() {
		List<PermitLease> leases = acquire(4);
		Turn big = ask(1, 0, request(4, 3));
		Turn small = ask(2, 3, request(4, 1));
		Turn another = ask(3, 1, request(4, 1));
		for (int back = 1; back <= 2; back++) {
			leases.get(back).release();
			// As long as it is not its turn, not even one without waiting comes first.
			assertThat(contexts.get(2).tryAcquire(SemaphoreRequest.of(this.key, 4))).isEmpty();
			assertThat(List.of(big, small, another)).as("granted with %d free", back).noneMatch(Turn::isGranted);
		}
		leases.get(3).release();
		big.awaitGranted();
		assertThat(List.of(small, another)).noneMatch(Turn::isGranted);
		leases.get(0).release();
		small.awaitGranted();
		assertThat(another.isGranted()).isFalse();
		big.release();
		another.awaitGranted();
		small.release();
		another.release();
	}

	@Test
	@DisplayName("F20 unfair requests pass who needs several, and it is served when none does any more")
	void bigIsPassedByUnfair() {
		List<PermitLease> leases = acquire(4);
		Turn big = ask(1, 0, request(4, 3));
		leases.get(0).release();
		for (SemaphoreService semaphores : List.of(contexts.get(0), contexts.get(1))) {
			SemaphoreRequest unfair = SemaphoreRequest.of(this.key, 4).fair(false);
			assertThat(semaphores.tryAcquire(unfair)).hasValueSatisfying(PermitLease::release);
			assertThat(semaphores.tryAcquire(unfair.waitTime(Fleet.PATIENCE))).hasValueSatisfying(PermitLease::release);
		}
		assertThat(contexts.get(1).tryAcquire(SemaphoreRequest.of(this.key, 4))).as("a fair one").isEmpty();
		Turn small = Turn.of(workers.get(0), "unfair", request(4, 1).fair(false));
		small.awaitGranted();
		leases.get(1).release();
		leases.get(2).release();
		assertThat(big.isGranted()).as("granted with 2 free").isFalse();
		small.release();
		big.awaitGranted();
		big.release();
		leases.get(3).release();
	}

	@Test
	@DisplayName("F20 one release of many permits serves all who fit at once, over contexts and JVMs")
	void manyAtOnce() {
		PermitLease all = holder.acquire(request(10, 10));
		List<Turn> turns = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			turns.add(ask(i + 1, i, request(10, 2)));
		}
		Turn last = ask(6, 0, request(10, 1));
		all.release();
		turns.forEach(Turn::awaitGranted);
		assertThat(last.isGranted()).isFalse();
		assertThat(holder.status(this.key).used()).isEqualTo(10);
		turns.get(3).release();
		last.awaitGranted();
		last.release();
		turns.stream().filter((turn) -> turn != turns.get(3)).forEach(Turn::release);
	}

	@Test
	@DisplayName("A big request that gives up lets those behind it in at once, whether it times out or is interrupted")
	void bigGivesUp() {
		PermitLease lease = holder.acquire(request(3, 2));
		Attempt<PermitLease> timed = Attempt.start(contexts.get(0), request(3, 3).waitTime(Duration.ofSeconds(2)));
		fleet.awaitWaitingForPermits(this.key, 1);
		Turn behind = ask(2, 1, request(3, 1));
		assertReason(timed, Reason.TIMED_OUT);
		behind.awaitGranted();
		behind.release();

		Attempt<PermitLease> interrupted = Attempt.start(contexts.get(0), request(3, 3));
		fleet.awaitWaitingForPermits(this.key, 1);
		Turn again = ask(2, 3, request(3, 1));
		interrupted.interrupt();
		assertReason(interrupted, Reason.INTERRUPTED);
		again.awaitGranted();
		again.release();
		lease.release();
	}

	@Test
	@DisplayName("A waiting instance that is stopped tells its waiters, leaves nothing, and lets those behind it in")
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
	@DisplayName("No request for many permits starves while small ones come and go all the time")
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

	private List<PermitLease> acquire(int permits) {
		List<PermitLease> leases = new ArrayList<>();
		for (int i = 0; i < permits; i++) {
			leases.add(holder.acquire(request(permits, 1)));
		}
		return leases;
	}

	private SemaphoreRequest request(int limit, int permits) {
		return SemaphoreRequest.of(this.key, limit).permits(permits).waitTime(Fleet.PATIENCE);
	}

	private Turn ask(int position, int instance, SemaphoreRequest request) {
		return ask(position, instance, request, this.key + position);
	}

	/**
	 * Stand in the queue, as the so many-th: the instances are three contexts and two
	 * JVMs.
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
