package io.holdfast.test;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

import static io.holdfast.test.LeaseAssertions.assertNothingIsHeld;
import static io.holdfast.test.LeaseAssertions.assertRunsWithLock;
import static io.holdfast.test.LeaseAssertions.assertRunsWithPermits;
import static io.holdfast.test.LeaseAssertions.assertRunsWithoutLease;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link LeaseAssertions}.
 */
@SpringBootTest
@AutoConfigureHoldfast
class LeaseAssertionsTests {

	@Autowired
	private LockService locks;

	@Autowired
	private SemaphoreService semaphores;

	@Test
	@DisplayName("An assertion fails outside of leases, and says so")
	void without() {
		assertRunsWithoutLease();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertRunsWithLock("a"))
			.withMessage("Expected this code to run with the lock 'a', but it runs without any");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertRunsWithPermits("s", 1))
			.withMessage("Expected this code to run with permits of 's': 1, but it runs without any");
	}

	@Test
	@DisplayName("All leases around the code count, and messages begin with the innermost")
	void nested() {
		this.locks.withLock(LockRequest.ofAll(List.of("a", "b")),
				() -> this.semaphores.withPermits(SemaphoreRequest.of("s", 5).permits(2),
						() -> this.semaphores.withPermits(SemaphoreRequest.of("s", 5), () -> {
							assertRunsWithLock("a");
							assertRunsWithLock("b");
							assertRunsWithPermits("s", 3);
							assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertRunsWithLock("s"));
							assertThatExceptionOfType(AssertionError.class)
								.isThrownBy(() -> assertRunsWithPermits("s", 2))
								.withMessageEndingWith("2, but it runs with 1 of 's', 2 of 's', the lock 'a, b'");
							assertThatExceptionOfType(AssertionError.class)
								.isThrownBy(LeaseAssertions::assertRunsWithoutLease)
								.withMessageStartingWith(
										"Expected this code to run without a lease, but it runs with 1 of");
						})));
	}

	@Test
	@DisplayName("The message lists leases by keys, instances and times, also keys that minHold keeps")
	void nothingIsHeld(@Autowired MemoryLeases leases, @Autowired HoldfastClock clock) {
		assertNothingIsHeld(leases);
		LockLease lock = this.locks.acquireAsync(LockRequest.of("a").autoRenew(false)).join();
		PermitLease permits = this.semaphores.acquireAsync(SemaphoreRequest.of("s", 5).permits(2)).join();
		this.locks.acquire(LockRequest.of("kept").minHold(Duration.ofHours(1))).close();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertNothingIsHeld(leases))
			.withMessageMatching("Expected that nothing is held or waited for, but lock 'a' is held by instance "
					+ "[0-9a-f]{8} \\(\\d+ ms left\\); lock 'kept' is held by instance [0-9a-f]{8} "
					+ "\\(\\d+ ms left\\); semaphore 's' is held by instance [0-9a-f]{8} \\(2 permits, \\d+ ms left\\)");
		lock.close();
		permits.close();
		clock.advance(Duration.ofHours(1));
		assertNothingIsHeld(leases);
	}

	@Test
	@DisplayName("A lock that was lost does not count")
	void lost(@Autowired HoldfastClock clock) {
		this.locks.withLock("a", () -> {
			clock.freeze(Duration.ofMinutes(1));
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertRunsWithLock("a"))
				.withMessageEndingWith("but it runs with the lock 'a' (not held any more)");
			assertRunsWithoutLease();
		});
	}

}
