package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A single holder at a time, over three contexts of one JVM and over three child JVMs.
 */
@Slow
class ExclusionTests extends FleetTestCase {

	private static final Duration LEASE = Duration.ofSeconds(5);

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
	@DisplayName("An unguarded counter is right under the lock: 3 JVMs, 3 threads each; no holds overlap, fences grow")
	void counterOfJvms() {
		workers.forEach((worker) -> worker.add("jvms", LEASE, 3, 25));
		List<Hold> holds = new ArrayList<>();
		workers.forEach((worker) -> holds.addAll(worker.awaitAdded("jvms")));
		assertThat(fleet.data().get("jvms")).isEqualTo(225);
		assertThat(holds).hasSize(225);
		Hold.assertExclusive(holds);
	}

	@Test
	@DisplayName("An unguarded counter is wrong without the lock: 3 JVMs, 3 threads each")
	void counterOfJvmsWithoutLock() {
		workers.forEach((worker) -> worker.add("unlocked", Duration.ZERO, 3, 25));
		workers.forEach((worker) -> worker.awaitAdded("unlocked"));
		assertThat(fleet.data().get("unlocked")).isPositive().isLessThan(225);
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

}
