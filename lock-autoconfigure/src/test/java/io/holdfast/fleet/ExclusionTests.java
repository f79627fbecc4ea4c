package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.store.Resource;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Holders of locks, permits and several keys, over three contexts of one JVM and three
 * child JVMs. Some instances hand leases over among their threads.
 */
@Slow
class ExclusionTests extends FleetTestCase {

	private static final Duration LEASE = Duration.ofSeconds(5);

	private static final int THREADS = 4;

	private static final int ROUNDS = 40;

	private static List<LockService> contexts;

	private static List<Worker> workers;

	@BeforeAll
	static void start() {
		workers = fleet.startMixedWorkers(3);
		workers.forEach(Worker::awaitReady);
		contexts = fleet.startMixed(3);
	}

	@Test
	@DisplayName("S16 An unguarded counter is right under the lock: 3 contexts, 4 threads each; no holds overlap,"
			+ " fences grow")
	void counterOfContexts() throws Exception {
		Data data = fleet.data();
		Collection<Hold> holds = new ConcurrentLinkedQueue<>();
		Crowd crowd = new Crowd();
		for (LockService locks : contexts) {
			crowd.add(4, () -> {
				for (int i = 0; i < 25; i++) {
					holds.add(data.addLocked(locks, "contexts", LEASE));
				}
			});
		}
		crowd.run();
		assertThat(data.get("contexts")).isEqualTo(300);
		assertThat(holds).hasSize(300);
		Hold.assertExclusive(holds);
	}

	@Test
	@DisplayName("S1 A request waits until its time limit, and the lock's value names the owner")
	void waitsUntilLimit() {
		LockService owner = contexts.get(0);
		LockService other = contexts.get(1);
		Duration limit = Duration.ofMillis(300);
		LockLease lease = owner.acquire("limit");
		String token = fleet.owner("limit");
		assertThat(token).matches("[0-9a-f]{32}:[0-9]+");
		assertThat(fleet.ttl("limit")).isPositive();
		long from = System.nanoTime();
		Attempt<LockLease> late = Attempt.start(other, LockRequest.of("limit").waitTime(limit));
		assertThat(late.failure()).isInstanceOfSatisfying(LockNotAcquiredException.class,
				(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT));
		assertThat(Duration.ofNanos(late.endedAt() - from)).isBetween(limit, limit.plus(Fleet.PROMPT));
		assertThat(fleet.owner("limit")).as("owner after the second attempt").isEqualTo(token);

		Attempt<LockLease> inTime = Attempt.start(other, LockRequest.of("limit").waitTime(Fleet.PATIENCE));
		fleet.awaitWaiting("limit", 1);
		lease.release();
		try (LockLease next = inTime.get()) {
			assertThat(fleet.owner("limit")).isNotEqualTo(token).matches("[0-9a-f]{32}:[0-9]+");
			assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
		}
	}

	@Test
	@DisplayName("S5 Of many contenders for an expired lock exactly one wins, whichever client left the lock")
	void oneTakesOverExpired() throws Exception {
		for (int round = 0; round < 5; round++) {
			String key = "expired" + round;
			Duration ttl = Duration.ofMillis(150);
			Optional<LockLease> left = Optional.empty();
			if (round % 2 == 0) {
				assertThat(fleet.plainClient().tryLock(key, ttl)).isNotNull();
			}
			else {
				left = contexts.get(0).tryAcquire(LockRequest.of(key).leaseTime(ttl).autoRenew(false));
				assertThat(left).isPresent();
			}
			Collection<LockLease> winners = new ConcurrentLinkedQueue<>();
			Crowd contenders = new Crowd();
			for (LockService locks : contexts) {
				contenders.add(6, () -> locks.tryAcquire(LockRequest.of(key).waitTime(Duration.ofSeconds(2)))
					.ifPresent(winners::add));
			}
			contenders.run();
			assertThat(winners).hasSize(1).allMatch(LockLease::isHeld);
			left.ifPresent((lease) -> assertThat(lease.release()).isEqualTo(ReleaseResult.LOST));
			assertThat(winners).allMatch(LockLease::isHeld);
			winners.forEach(LockLease::close);
		}
	}

	@Test
	@DisplayName("S18 Every grant has its own token, which names its instance, over contexts and JVMs")
	void tokensAreUnique() {
		Set<String> tokens = new HashSet<>();
		Set<String> instances = new HashSet<>();
		for (int i = 0; i < 20; i++) {
			for (LockService locks : contexts) {
				try (LockLease lease = locks.acquire("tokens")) {
					lease.ensureHeld();
					tokens.add(String.valueOf(fleet.owner("tokens")));
				}
			}
		}
		for (Worker worker : workers) {
			worker.acquire("tokens", "tokens", LEASE, Fleet.PATIENCE);
			worker.awaitGranted("tokens");
			tokens.add(String.valueOf(fleet.owner("tokens")));
			worker.release("tokens");
		}
		assertThat(tokens).hasSize(3 * 20 + 3).allMatch((token) -> token.matches("[0-9a-f]{32}:[0-9]+"));
		tokens.forEach((token) -> instances.add(token.substring(0, 32)));
		assertThat(instances).hasSize(6);
	}

	@ParameterizedTest(name = "Limit {0}, requests for up to {1} permits, fair: {2}")
	@CsvSource({ "1, 1, true", "3, 3, true", "10, 10, true", "10, 1, true", "7, 4, false", "3, 1, false" })
	@DisplayName("S13 Without races the limit is reached and never exceeded, every request is served, all permits come"
			+ " back")
	void crowded(int limit, int most, boolean fair) throws Exception {
		SemaphoreRequest request = SemaphoreRequest.of("crowd-" + limit + "-" + most + "-" + fair, limit)
			.fair(fair)
			.waitTime(Fleet.PATIENCE.multipliedBy(2));
		workers.forEach((worker) -> worker.use(request.key(), request.permits(most), THREADS, ROUNDS));
		Notes notes = new Notes();
		Crowd crowd = new Crowd();
		// Enough to reach the limit, also if the other JVMs are already done.
		for (LockService locks : contexts) {
			crowd.add(2 * THREADS, Users.of(fleet.semaphores(locks), request.permits(most), ROUNDS, notes));
		}
		crowd.run();
		List<Hold> holds = allHolds(request.key(), notes);
		assertThat(holds).hasSize(3 * 3 * THREADS * ROUNDS);
		// Whether all permits are held at the same moment depends on chance if each
		// request takes several and processors are busy.
		assertThat(Overlaps.assertWithin(holds, limit)).as("the most permits at one moment")
			.isGreaterThan(limit / 2)
			.isLessThanOrEqualTo(limit);
		assertThat(notes.refusals()).as("refused in these contexts").isZero();
		assertThat(workers).as("refused in other JVMs").allMatch((worker) -> worker.refusals(request.key()) == 0);
		SemaphoreService semaphores = fleet.semaphores(contexts.get(0));
		assertThat(semaphores.status(request.key()).used()).as("used when all is quiet").isZero();
		assertThat(semaphores.tryAcquire(request.permits(limit))).hasValueSatisfying(PermitLease::close);
	}

	@Test
	@DisplayName("Many readers or one writer at any moment, over contexts and JVMs; fences grow with every writer; all"
			+ " requests are served")
	void readersOrWriter() throws Exception {
		Notes notes = new Notes();
		Crowd crowd = new Crowd();
		LockRequest reading = LockRequest.of("crowd").mode(LockMode.READ).waitTime(Fleet.PATIENCE.multipliedBy(2));
		LockRequest writing = reading.mode(LockMode.EXCLUSIVE);
		for (Worker worker : workers) {
			worker.use("reading", reading, THREADS, ROUNDS);
			worker.use("writing", writing, 2, ROUNDS);
		}
		for (LockService locks : contexts) {
			crowd.add(THREADS, Users.of(locks, reading, ROUNDS, notes)).add(2, Users.of(locks, writing, ROUNDS, notes));
		}
		crowd.run();
		List<Hold> holds = allHolds("reading", notes);
		holds.addAll(allHolds("writing", new Notes()));
		assertThat(holds).hasSize(6 * (THREADS + 2) * ROUNDS);
		assertThat(Overlaps.assertWithin(holds, Resource.ALL)).as("a writer's").isEqualTo(Resource.ALL);
		List<Hold> readers = holds.stream().filter((hold) -> hold.permits() == 1).toList();
		assertThat(Overlaps.highest(readers)).as("simultaneous readers").isGreaterThan(3);
		List<Hold> writers = holds.stream().filter((hold) -> hold.permits() > 1).toList();
		Hold.assertExclusive(writers);
		for (Hold one : writers) {
			assertThat(readers).as("fences before and after %s", one)
				.allMatch((hold) -> (hold.from() > one.until()) ? hold.fence() > one.fence()
						: hold.fence() < one.fence());
		}
		assertThat(notes.refusals()).isZero();
	}

	@Test
	@DisplayName("S9 2000 requests for random sets of 8 keys: no deadlock, no key held twice, fences grow")
	void noDeadlock() throws Exception {
		LockRequest all = LockRequest.ofAll(List.of("k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"))
			.waitTime(Duration.ofMinutes(2));
		Map<String, Notes> notes = new ConcurrentHashMap<>();
		Crowd crowd = new Crowd();
		workers.forEach((worker) -> worker.useSome("some", all, THREADS, 2 * ROUNDS));
		for (LockService locks : contexts) {
			crowd.add(THREADS,
					Users.ofSome(locks, all, 2 * ROUNDS, (key) -> notes.computeIfAbsent(key, (any) -> new Notes())));
		}
		crowd.run(Duration.ofMinutes(2));
		workers.forEach((worker) -> worker.awaitUsed("some"));
		int count = 0;
		for (String key : all.keys()) {
			List<Hold> holds = new ArrayList<>(notes.get(key).holds());
			workers.forEach((worker) -> holds.addAll(worker.holds(Worker.nameOf("some", key))));
			Hold.assertExclusive(holds);
			count += holds.size();
		}
		assertThat(count).as("holds of all keys").isGreaterThan(6 * THREADS * 2 * ROUNDS * 3 / 2);
	}

	/** Wait for the JVMs, and return the holds of all contexts and JVMs. */
	private static List<Hold> allHolds(String name, Notes notes) {
		workers.forEach((worker) -> worker.awaitUsed(name));
		List<Hold> holds = new ArrayList<>(notes.holds());
		workers.forEach((worker) -> holds.addAll(worker.holds(name)));
		return holds;
	}

}
