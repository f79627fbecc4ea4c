package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;

import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The process of a holder of permits, or of a waiter, is killed or frozen.
 */
@Slow
class PermitFaultTests extends WorkerFaultTestCase {

	private static SemaphoreService first;

	private static SemaphoreService second;

	@BeforeAll
	static void start() {
		List<SemaphoreService> contexts = fleet.startSemaphores(2);
		first = contexts.get(0);
		second = contexts.get(1);
	}

	@Test
	@DisplayName("S10 F1 A holder is killed: its permits come back at the end of its lease without a release, and a"
			+ " waiter gets them")
	void holderKilled() {
		Worker mortal = mortals.pop();
		mortal.acquire("held", request("killed", 3, 2));
		mortal.awaitGranted("held");
		PermitLease mine = first.acquire(SemaphoreRequest.of("killed", 3));
		Attempt<PermitLease> attempt = Attempt.start(second, request("killed", 3, 2));
		fleet.awaitWaitingForPermits("killed", 1);
		mortal.kill();
		long killedAt = System.nanoTime();
		Duration left = Duration.ofMillis(fleet.firstLeaseLeft(fleet.semaphoreKey("killed", "holders")));
		assertThat(left).isPositive();
		PermitLease next = attempt.get();
		assertThat(Duration.ofNanos(attempt.endedAt() - killedAt)).isBetween(left.minus(CLOCK),
				left.plus(Fleet.PROMPT));
		assertThat(mine.isHeld()).as("the surviving holder").isTrue();
		assertThat(first.status("killed").used()).isEqualTo(3);
		next.release();
		mine.release();
	}

	@Test
	@DisplayName("F20 A waiter for many permits is killed: it is skipped at once, the waiters behind it are served")
	void waiterKilled() {
		PermitLease lease = first.acquire(SemaphoreRequest.of("waiter", 3));
		Worker mortal = mortals.pop();
		mortal.acquire("big", SemaphoreRequest.of("waiter", 3).permits(3).waitTime(Duration.ofMinutes(1)));
		fleet.awaitWaitingForPermits("waiter", 1);
		Attempt<PermitLease> behind = Attempt.start(second, request("waiter", 3, 2));
		fleet.awaitWaitingForPermits("waiter", 2);
		mortal.kill();
		lease.release();
		behind.get(Fleet.PROMPT).release();
	}

	@Test
	@DisplayName("F2 A waiter is frozen at its hand-off: its permits go to the next waiter when its claim ends, and"
			+ " after the thaw it waits on")
	void waiterFrozen() {
		PermitLease lease = first.acquire(SemaphoreRequest.of("claim", 1));
		steady.acquire("claim", request("claim", 1, 1));
		fleet.awaitWaitingForPermits("claim", 1);
		Attempt<PermitLease> behind = Attempt.start(second, request("claim", 1, 1));
		fleet.awaitWaitingForPermits("claim", 2);
		steady.freeze();
		PermitLease next;
		try {
			lease.release();
			next = behind.get();
		}
		finally {
			steady.thaw();
		}
		fleet.awaitWaitingForPermits("claim", 1);
		assertThat(steady.isGranted("claim")).isFalse();
		assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		steady.awaitGranted("claim", Fleet.PROMPT);
		assertThat(steady.release("claim")).isEqualTo(ReleaseResult.RELEASED);
	}

	private static SemaphoreRequest request(String key, int limit, int permits) {
		return SemaphoreRequest.of(key, limit).permits(permits).leaseTime(LEASE).waitTime(Fleet.PATIENCE);
	}

}
