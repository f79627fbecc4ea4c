package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two JVMs with wrong clocks share permits and locks with a JVM with the right clock: a
 * clock is 10 minutes early, another 10 minutes late.
 */
@Slow
class WrongClockTests extends FleetTestCase {

	private static final Duration WRONG = Duration.ofMinutes(10);

	private static final Duration LEASE = Duration.ofMillis(1000);

	private static long startedAt;

	private static LockService right;

	private static LockService another;

	private static Worker early;

	private static Worker late;

	@BeforeAll
	static void start() {
		startedAt = System.currentTimeMillis();
		early = fleet.startWorker(WRONG);
		late = fleet.startWorker(WRONG.negated());
		early.awaitReady();
		late.awaitReady();
		right = fleet.start();
		another = fleet.start();
	}

	@Test
	@DisplayName("F39 The clocks of two JVMs are wrong, for the application and for Spring")
	void clocksAreWrong() {
		assertWrong(early, WRONG);
		assertWrong(late, WRONG.negated());
	}

	private static void assertWrong(Worker worker, Duration shift) {
		long before = System.currentTimeMillis();
		Worker.Shown shown = worker.shiftClock("look", shift);
		long after = System.currentTimeMillis();
		assertThat(List.of(shown.millis(), shown.instant()))
			.allSatisfy((time) -> assertThat(time - shift.toMillis()).isBetween(before, after));
		assertThat(shown.startedAt() - shift.toMillis()).isBetween(startedAt, before);
	}

	@Test
	@DisplayName("S11 F39 A JVM with an early clock steals nothing, a JVM with a late clock keeps its leases while"
			+ " they are renewed")
	void notStolen() {
		List<Case> cases = cases("stolen");
		List<Turn> mine = cases.stream().map((one) -> one.ask(right, Fleet.PATIENCE, true)).toList();
		mine.forEach(Turn::awaitGranted);
		forTwoLeases(() -> {
			cases.forEach((one) -> one.ask(one.key, Duration.ZERO, true));
			cases.forEach((one) -> one.wrong.awaitFailed(one.key));
		});
		mine.forEach(Turn::release);
		List<Turn> theirs = cases.stream().map((one) -> one.ask(one.key, Fleet.PATIENCE, true)).toList();
		theirs.forEach(Turn::awaitGranted);
		forTwoLeases(() -> assertThat(cases).noneMatch((one) -> one.isFree(another)));
		theirs.forEach(Turn::release);
	}

	@Test
	@DisplayName("S12 F39 A lease ends for its holder and for waiters at the end of its time, and no later, whichever"
			+ " clock is wrong")
	void notKeptLonger() {
		List<Case> cases = cases("kept");
		cases.forEach((one) -> one.ask(one.key, Fleet.PATIENCE, false));
		List<Long> grantedAt = cases.stream().map((one) -> one.wrong.awaitGranted(one.key).at()).toList();
		List<Turn> next = cases.stream().map((one) -> one.ask(right, Fleet.PATIENCE, false)).toList();
		List<Long> nextAt = next.stream().map(Turn::awaitGranted).toList();
		List<Turn> again = cases.stream().map((one) -> one.ask(one.key + "-again", Fleet.PATIENCE, false)).toList();
		for (int i = 0; i < cases.size(); i++) {
			Case one = cases.get(i);
			assertLeaseBetween(grantedAt.get(i), nextAt.get(i));
			assertThat(one.wrong.awaitLastHeldAt(one.key)).as("the last time the lease counted as held")
				.isLessThan(nextAt.get(i));
			assertLeaseBetween(nextAt.get(i), again.get(i).awaitGranted());
			again.get(i).release();
			next.get(i).release();
			one.wrong.release(one.key);
		}
	}

	private static void assertLeaseBetween(long from, long until) {
		assertThat(Duration.ofNanos(until - from)).isBetween(LEASE.dividedBy(2), LEASE.plus(Fleet.PROMPT));
	}

	/** Repeat until leases without renewal would have ended. */
	private static void forTwoLeases(Runnable action) {
		long from = System.nanoTime();
		await("two leases").atMost(Fleet.PATIENCE).pollInterval(Duration.ofMillis(20)).until(() -> {
			action.run();
			return System.nanoTime() - from > LEASE.multipliedBy(2).toNanos();
		});
	}

	@Test
	@DisplayName("S11 F39 Requests are served in their order, whatever the clocks")
	void order() {
		for (Kind kind : Kind.values()) {
			String key = "order-" + kind;
			Case ofEarly = new Case(kind, early, key);
			Case ofLate = new Case(kind, late, key);
			Turn holder = ofEarly.ask(right, Fleet.PATIENCE, true);
			holder.awaitGranted();
			List<Turn> turns = new ArrayList<>();
			turns.add(ofEarly.ask(key, Fleet.PATIENCE, true));
			ofEarly.awaitWaiting(1);
			turns.add(ofEarly.ask(another, Fleet.PATIENCE, true));
			ofEarly.awaitWaiting(2);
			turns.add(ofLate.ask(key, Fleet.PATIENCE, true));
			ofLate.awaitWaiting(3);
			holder.release();
			for (Turn turn : turns) {
				turn.awaitGranted();
				assertThat(turns.subList(turns.indexOf(turn) + 1, turns.size())).as("the later requests")
					.noneMatch(Turn::isGranted);
				turn.release();
			}
		}
	}

	/** Both wrong clocks, with each kind of resource, at the same time. */
	private static List<Case> cases(String name) {
		return Stream.of(Kind.values())
			.flatMap((kind) -> Stream.of(new Case(kind, early, name + "-early-" + kind),
					new Case(kind, late, name + "-late-" + kind)))
			.toList();
	}

	/** Kind of a key's resource. */
	private enum Kind {

		PERMIT, LOCK

	}

	/**
	 * A key, and a JVM with a wrong clock.
	 *
	 * @param kind the kind of resource
	 * @param wrong the JVM with the wrong clock
	 * @param key the key
	 */
	private record Case(Kind kind, Worker wrong, String key) {

		/** Request the resource in the JVM with the wrong clock. */
		Turn ask(String name, Duration wait, boolean renewal) {
			return (this.kind == Kind.PERMIT) ? Turn.of(this.wrong, name, permit(wait, renewal))
					: Turn.of(this.wrong, name, lock(wait, renewal));
		}

		/** Request the resource in an instance of this JVM. */
		Turn ask(LockService instance, Duration wait, boolean renewal) {
			return (this.kind == Kind.PERMIT) ? Turn.of(fleet.semaphores(instance), permit(wait, renewal))
					: Turn.of(instance, lock(wait, renewal));
		}

		/** Return whether the resource is free, by acquiring and releasing it at once. */
		boolean isFree(LockService instance) {
			return ((this.kind == Kind.PERMIT) ? fleet.semaphores(instance).tryAcquire(permit(Duration.ZERO, true))
					: instance.tryAcquire(lock(Duration.ZERO, true)))
				.map(Lease::release)
				.isPresent();
		}

		void awaitWaiting(int count) {
			switch (this.kind) {
				case PERMIT -> fleet.awaitWaitingForPermits(this.key, count);
				case LOCK -> fleet.awaitWaiting(this.key, count);
			}
		}

		private SemaphoreRequest permit(Duration wait, boolean renewal) {
			return SemaphoreRequest.of(this.key, 1).waitTime(wait).leaseTime(LEASE).autoRenew(renewal);
		}

		private LockRequest lock(Duration wait, boolean renewal) {
			return LockRequest.of(this.key).waitTime(wait).leaseTime(LEASE).autoRenew(renewal);
		}

	}

}
