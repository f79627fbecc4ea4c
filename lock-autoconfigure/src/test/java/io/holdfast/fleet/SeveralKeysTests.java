package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.store.Resource;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Several keys locked at once, over three contexts and two JVMs, some of which are
 * killed.
 */
@Slow
class SeveralKeysTests extends FleetTestCase {

	private static final List<String> KEYS = List.of("k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7");

	private static final Duration LEASE = Duration.ofMillis(1500);

	/** Redis counts milliseconds by its own clock. */
	private static final Duration CLOCK = Duration.ofMillis(20);

	private static List<LockService> contexts;

	private static List<Worker> workers;

	/** To be killed. */
	private static final Deque<Worker> mortals = new ArrayDeque<>();

	@BeforeAll
	static void start() {
		workers = List.of(fleet.startWorker(), fleet.startWorker());
		mortals.push(fleet.startWorker());
		mortals.push(fleet.startWorker());
		workers.forEach(Worker::awaitReady);
		mortals.forEach(Worker::awaitReady);
		contexts = fleet.start(3);
	}

	@AfterAll
	static void forget() {
		mortals.clear();
	}

	@Test
	@DisplayName("S9 2000 requests for random sets of 8 keys, of 3 contexts and 2 JVMs: no deadlock, no key held"
			+ " twice, fences grow")
	void noDeadlock() throws Exception {
		int threads = 4;
		int rounds = 100;
		LockRequest all = LockRequest.ofAll(KEYS).waitTime(Duration.ofMinutes(2));
		Map<String, Notes> notes = new ConcurrentHashMap<>();
		Crowd crowd = new Crowd();
		for (Worker worker : workers) {
			worker.useSome("some", all, threads, rounds);
		}
		for (LockService locks : contexts) {
			crowd.add(threads,
					Users.ofSome(locks, all, rounds, (key) -> notes.computeIfAbsent(key, (any) -> new Notes())));
		}
		crowd.run(Duration.ofMinutes(2));
		workers.forEach((worker) -> worker.awaitUsed("some"));
		int count = 0;
		for (String key : KEYS) {
			List<Hold> holds = new ArrayList<>(notes.get(key).holds());
			workers.forEach((worker) -> holds.addAll(worker.holds(Worker.nameOf("some", key))));
			Hold.assertExclusive(holds);
			count += holds.size();
		}
		assertThat(count).as("holds of all keys").isGreaterThan(5 * threads * rounds * 3 / 2);
	}

	@Test
	@DisplayName("S9 Readers and writers of random sets of 4 keys: no deadlock, and at each key many readers or one"
			+ " writer")
	void noDeadlockOfReadersAndWriters() throws Exception {
		LockRequest all = LockRequest.ofAll(List.of("rw0", "rw1", "rw2", "rw3")).waitTime(Duration.ofMinutes(1));
		Map<String, Notes> notes = new ConcurrentHashMap<>();
		Crowd crowd = new Crowd();
		for (LockService locks : contexts) {
			for (LockMode mode : List.of(LockMode.READ, LockMode.READ, LockMode.EXCLUSIVE)) {
				crowd.add(1, Users.ofSome(locks, all.mode(mode), 60,
						(key) -> notes.computeIfAbsent(key, (any) -> new Notes())));
			}
		}
		crowd.run();
		for (String key : all.keys()) {
			assertThat(Overlaps.assertWithin(notes.get(key).holds(), Resource.ALL)).isEqualTo(Resource.ALL);
		}
		assertThat(all.keys()).as("keys with simultaneous readers")
			.anyMatch((key) -> Overlaps
				.highest(notes.get(key).holds().stream().filter((hold) -> hold.permits() == 1).toList()) > 1);
	}

	@Test
	@DisplayName("S9 F1 The holder of several keys is killed: the next request has all keys at the end of the lease")
	void holderKilled() {
		Worker holder = mortals.pop();
		LockRequest several = LockRequest.ofAll(List.of("x", "y", "z")).leaseTime(LEASE).waitTime(Fleet.PATIENCE);
		holder.acquire("several", several);
		holder.awaitGranted("several");
		Attempt<LockLease> next = Attempt.start(contexts.get(0), several);
		fleet.awaitWaiting("x", 1);
		holder.kill();
		long killedAt = System.nanoTime();
		Duration left = Duration.ofMillis(List.of(fleet.ttl("x"), fleet.ttl("y"), fleet.ttl("z"))
			.stream()
			.mapToLong(Long::longValue)
			.max()
			.orElseThrow());
		assertThat(left).isPositive();
		try (LockLease lease = next.get()) {
			assertThat(Duration.ofNanos(next.endedAt() - killedAt)).isBetween(left.minus(LEASE.dividedBy(2)),
					left.plus(Fleet.PROMPT));
			assertThat(lease.keys()).containsExactly("x", "y", "z").allMatch((key) -> fleet.owner(key) != null);
		}
	}

	@Test
	@DisplayName("S9 F1 A holder of one key that waits for another is killed: no key stays locked beyond the lease")
	void waiterKilled() {
		LockLease mine = contexts.get(0).acquire("second");
		Worker waiter = mortals.pop();
		waiter.acquire("both", LockRequest.ofAll(List.of("first", "second")).leaseTime(LEASE).waitTime(Fleet.PATIENCE));
		fleet.awaitWaiting("second", 1);
		assertThat(fleet.owner("first")).isNotNull();
		waiter.kill();
		long killedAt = System.nanoTime();
		Duration left = Duration.ofMillis(fleet.ttl("first"));
		Attempt<LockLease> first = Attempt.start(contexts.get(1), LockRequest.of("first").waitTime(Fleet.PATIENCE));
		first.get().release();
		assertThat(Duration.ofNanos(first.endedAt() - killedAt)).isBetween(left.minus(CLOCK), left.plus(Fleet.PROMPT));
		mine.close();
		contexts.get(1).acquire(LockRequest.of("second").waitTime(Fleet.PROMPT)).close();
	}

	@Test
	@DisplayName("A thousand keys are locked, renewed and released at once")
	void thousandKeys() {
		List<String> keys = new ArrayList<>();
		for (int i = 0; i < 1000; i++) {
			keys.add("thousand:" + i);
		}
		LockRequest request = LockRequest.ofAll(keys).waitTime(Fleet.PATIENCE);
		try (LockLease lease = contexts.get(0).acquire(request)) {
			assertThat(fleet.owner("thousand:0")).isNotNull();
			assertThat(fleet.owner("thousand:999")).isNotNull();
			lease.extend(Duration.ofMinutes(10));
			assertThat(lease.remaining()).isGreaterThan(Duration.ofMinutes(9));
			assertThat(contexts.get(0).acquire(request).release()).as("of a nested lease")
				.isEqualTo(ReleaseResult.RELEASED);
			assertThat(contexts.get(1).tryAcquire("thousand:500")).isEmpty();
		}
	}

}
