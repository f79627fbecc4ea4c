package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.LockStatus.Owner;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The process of a holder is killed or frozen.
 */
class HolderFaultTests extends FleetTestCase {

	private static final Duration LEASE = Duration.ofMillis(1200);

	/** Redis counts milliseconds by its own clock. */
	private static final Duration CLOCK = Duration.ofMillis(20);

	/** Frozen and thawed. */
	private static Worker steady;

	/** To be killed. */
	private static final Deque<Worker> mortals = new ArrayDeque<>();

	private static LockService first;

	private static LockService second;

	@BeforeAll
	static void start() {
		steady = fleet.startWorker();
		for (int i = 0; i < 4; i++) {
			mortals.push(fleet.startWorker());
		}
		steady.awaitReady();
		mortals.forEach(Worker::awaitReady);
		first = fleet.start();
		second = fleet.start();
	}

	@AfterAll
	static void forgetWorkers() {
		mortals.clear();
	}

	@Test
	@DisplayName("F1 A holder is killed: the next waiter has the lock at the end of the holder's lease, not at its own"
			+ " deadline")
	void killed() {
		Worker holder = mortals.pop();
		long fence = hold(holder, "F1").fence();
		Attempt<LockLease> next = Attempt.start(first, LockRequest.of("F1").waitTime(Duration.ofMinutes(1)));
		fleet.awaitWaiting("F1", 1);
		holder.kill();
		long killedAt = System.nanoTime();
		Duration left = Duration.ofMillis(fleet.ttl("F1"));
		try (LockLease lease = next.get()) {
			assertThat(Duration.ofNanos(next.endedAt() - killedAt)).isBetween(left.minus(CLOCK),
					left.plus(Fleet.PROMPT));
			assertThat(lease.fencingToken()).isGreaterThan(fence);
		}
	}

	@Test
	@DisplayName("S10 F1 A holder is killed: its permits come back at the end of its lease without a release, and a"
			+ " waiter gets them")
	void holderOfPermitsKilled() {
		SemaphoreService semaphores = fleet.semaphores(first);
		SemaphoreRequest request = SemaphoreRequest.of("killed", 3)
			.permits(2)
			.leaseTime(LEASE)
			.waitTime(Fleet.PATIENCE);
		Worker mortal = mortals.pop();
		mortal.acquire("held", request);
		mortal.awaitGranted("held");
		PermitLease mine = semaphores.acquire(SemaphoreRequest.of("killed", 3));
		Attempt<PermitLease> attempt = Attempt.start(fleet.semaphores(second), request);
		fleet.awaitWaitingForPermits("killed", 1);
		mortal.kill();
		long killedAt = System.nanoTime();
		Duration left = Duration.ofMillis(fleet.firstLeaseLeft(fleet.semaphoreKey("killed", "holders")));
		assertThat(left).isPositive();
		PermitLease next = attempt.get();
		assertThat(Duration.ofNanos(attempt.endedAt() - killedAt)).isBetween(left.minus(CLOCK),
				left.plus(Fleet.PROMPT));
		assertThat(mine.isHeld()).as("the surviving holder").isTrue();
		assertThat(semaphores.status("killed").used()).isEqualTo(3);
		next.release();
		mine.release();
	}

	@Test
	@DisplayName("F2 S6 A holder is frozen beyond its lease: it sees the loss at once, its release leaves the next owner"
			+ " and the next waiter alone, and its fenced write is refused")
	void frozenForTooLong() {
		hold(steady, "F2");
		assertThat(steady.write("F2", "F2", "old")).isTrue();
		Attempt<LockLease> next = Attempt.start(first, LockRequest.of("F2").waitTime(Fleet.PATIENCE));
		fleet.awaitWaiting("F2", 1);
		Attempt<LockLease> last = Attempt.start(second, LockRequest.of("F2").waitTime(Fleet.PATIENCE));
		fleet.awaitWaiting("F2", 2);
		LockLease lease = grantedWhileFrozen("F2", next);
		assertSeenAtOnce("F2", next);
		assertThat(fleet.data().writeFenced("F2", lease.fencingToken(), "new")).isTrue();
		assertThat(steady.write("F2", "F2", "late")).isFalse();
		assertThat(fleet.data().readFenced("F2")).isEqualTo("new");
		String owner = fleet.owner("F2");
		assertThat(steady.release("F2")).isEqualTo(ReleaseResult.LOST);
		assertThat(fleet.owner("F2")).isEqualTo(owner).isNotNull();
		// A hand-off by the late release would have happened by now.
		assertThat(first.status("F2").waiting()).isEqualTo(1);
		assertThat(last.isDone()).isFalse();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		try (LockLease turn = last.get()) {
			assertThat(turn.fencingToken()).isGreaterThan(lease.fencingToken());
		}
	}

	@Slow
	@Test
	@DisplayName("F3 A holder is frozen for 0.7 of its lease: it still holds the lock, and renews it again")
	void frozenForShort() {
		// Long enough that the rest of the lease is more than a busy machine takes.
		Duration lease = Duration.ofSeconds(10);
		steady.acquire("F3", "F3", lease, Fleet.PATIENCE);
		steady.awaitGranted("F3");
		Attempt<LockLease> next = Attempt.start(first, LockRequest.of("F3").waitTime(Fleet.PATIENCE.multipliedBy(2)));
		fleet.awaitWaiting("F3", 1);
		awaitTtl("renewed just now", "F3", lease.toMillis() - 500, lease.toMillis());
		whileFrozen(() -> awaitTtl("0.7 of the lease gone", "F3", 1, lease.toMillis() * 3 / 10));
		steady.askHeld("F3");
		assertThat(steady.awaitHeld("F3")).isTrue();
		awaitTtl("renewed again", "F3", lease.toMillis() / 2, lease.toMillis());
		assertThat(next.isDone()).as("the waiter's turn").isFalse();
		assertThat(steady.release("F3")).isEqualTo(ReleaseResult.RELEASED);
		next.get().release();
	}

	@Test
	@DisplayName("S6 The lock of a crashed holder tells its owner and its end, and can be released by force")
	void crashed() {
		Worker holder = mortals.pop();
		Duration lease = Duration.ofMinutes(1);
		holder.acquire("S6b", "S6b", lease, Fleet.PATIENCE);
		long fence = holder.awaitGranted("S6b").fence();
		holder.kill();
		LockStatus status = first.status("S6b");
		assertThat(status.owner()).isEqualTo(Owner.OTHER_INSTANCE);
		assertThat(status.fencingToken()).isEqualTo(fence);
		assertThat(status.remaining()).isBetween(Duration.ofSeconds(30), lease);
		assertThat(first.tryAcquire("S6b")).isEmpty();
		assertThat(first.admin().forceRelease("S6b")).isTrue();
		try (LockLease next = second.acquire("S6b")) {
			assertThat(next.fencingToken()).isGreaterThan(fence);
		}
	}

	@Test
	@DisplayName("S6 The lock of a killed holder expires: of contenders in several JVMs one has the lock at a time")
	void contendersAfterExpiry() throws Exception {
		Worker holder = mortals.pop();
		long fence = hold(holder, "S6c").fence();
		holder.kill();
		long killedAt = System.nanoTime();
		Duration left = Duration.ofMillis(fleet.ttl("S6c"));
		Collection<Hold> holds = new ConcurrentLinkedQueue<>();
		Data data = fleet.data();
		steady.add("S6c", LEASE, 4, 3);
		new Crowd().add(4, () -> holds.add(data.addLocked(first, "S6c", LEASE)))
			.add(4, () -> holds.add(data.addLocked(second, "S6c", LEASE)))
			.run();
		holds.addAll(steady.awaitAdded("S6c"));
		holds.add(new Hold(fence, killedAt, killedAt + left.minus(CLOCK).toNanos()));
		assertThat(holds).hasSize(4 * 3 + 4 + 4 + 1);
		Hold.assertExclusive(holds);
		assertThat(data.get("S6c")).isEqualTo(4 * 3 + 4 + 4);
	}

	private static Worker.Grant hold(Worker worker, String key) {
		worker.acquire(key, key, LEASE, Fleet.PATIENCE);
		return worker.awaitGranted(key);
	}

	/**
	 * Freeze the holder until the next owner has the resource, and ask the holder about
	 * its lease.
	 */
	private static <L extends Lease> L grantedWhileFrozen(String name, Attempt<L> next) {
		return whileFrozen(() -> {
			L granted = next.get();
			steady.askHeld(name);
			return granted;
		});
	}

	/** Check that the holder saw its loss before the next owner's grant. */
	private static void assertSeenAtOnce(String name, Attempt<?> next) {
		assertThat(steady.awaitHeld(name)).isFalse();
		assertThat(steady.awaitLastHeldAt(name)).as("the last time the lease counted as held")
			.isLessThan(next.endedAt());
		steady.awaitLost(name);
	}

	private static <T> T whileFrozen(Supplier<T> action) {
		steady.freeze();
		try {
			return action.get();
		}
		finally {
			steady.thaw();
		}
	}

	/** Wait until a lock key has a remaining life within the bounds. */
	private static long awaitTtl(String what, String key, long least, long most) {
		return await(what).atMost(Fleet.PATIENCE)
			.pollDelay(Duration.ZERO)
			.pollInterval(5, TimeUnit.MILLISECONDS)
			.until(() -> fleet.ttl(key), (ttl) -> ttl >= least && ttl <= most);
	}

}
