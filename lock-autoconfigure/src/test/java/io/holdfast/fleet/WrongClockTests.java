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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two JVMs with wrong clocks share permits and locks with a JVM with the right clock: a
 * clock is 10 minutes early, another 10 minutes late; or they jump by as much.
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

	@AfterEach
	@Override
	void nothingIsLeft() {
		early.shiftClock("back", WRONG);
		late.shiftClock("back", WRONG.negated());
		super.nothingIsLeft();
	}

	@Test
	@DisplayName("F39 The clocks of two JVMs are wrong, for the application and for Spring")
	void clocksAreWrong() {
		assertWrong(early, WRONG);
		assertWrong(late, WRONG.negated());
		assertWrong(late, WRONG);
	}

	private static void assertWrong(Worker worker, Duration shift) {
		long before = System.currentTimeMillis();
		Worker.Shown shown = worker.shiftClock("look", shift);
		long after = System.currentTimeMillis();
		assertThat(List.of(shown.millis(), shown.instant()))
			.allSatisfy((time) -> assertThat(time - shift.toMillis()).isBetween(before, after));
		Duration first = (worker == early) ? WRONG : WRONG.negated();
		assertThat(shown.startedAt() - first.toMillis()).isBetween(startedAt, before);
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

	@Test
	@DisplayName("F39 A jump of the clock changes nothing: renewed leases stay held, other leases end in time")
	void jumps() {
		List<Case> cases = cases("jumps");
		List<Turn> renewed = cases.stream().map((one) -> one.ask(one.key, Fleet.PATIENCE, true)).toList();
		renewed.forEach(Turn::awaitGranted);
		List<Case> ending = cases("ending");
		ending.forEach((one) -> one.ask(one.key, Fleet.PATIENCE, false));
		List<Long> grantedAt = ending.stream().map((one) -> one.wrong.awaitGranted(one.key).at()).toList();
		early.shiftClock("jump", WRONG.negated());
		late.shiftClock("jump", WRONG);
		forTwoLeases(() -> assertThat(cases).noneMatch((one) -> one.isFree(right)));
		for (Case one : cases) {
			one.wrong.askHeld(one.key);
			assertThat(one.wrong.awaitHeld(one.key)).isTrue();
		}
		for (int i = 0; i < ending.size(); i++) {
			Case one = ending.get(i);
			assertThat(Duration.ofNanos(one.wrong.awaitLastHeldAt(one.key) - grantedAt.get(i)))
				.isBetween(LEASE.dividedBy(4), LEASE);
			assertThat(one.isFree(right)).as("free after its end").isTrue();
			one.wrong.release(one.key);
		}
		renewed.forEach(Turn::release);
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

	@Test
	@DisplayName("F39 Fences grow over JVMs with wrong clocks")
	void fences() {
		long last = 0;
		for (int i = 0; i < 4; i++) {
			Worker wrong = (i % 2 == 0) ? early : late;
			String name = "fence" + i;
			wrong.acquire(name, LockRequest.of("fences").waitTime(Fleet.PATIENCE));
			long fence = wrong.awaitGranted(name).fence();
			assertThat(fence).isGreaterThan(last);
			wrong.release(name);
			last = fence;
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
