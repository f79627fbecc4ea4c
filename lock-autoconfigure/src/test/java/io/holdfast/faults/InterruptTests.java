package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Threads are interrupted while they wait, and before they acquire and release.
 */
class InterruptTests extends FaultTestCase {

	private static final String KEY = "interrupted";

	@AfterEach
	void close() {
		Thread.interrupted();
		this.fleet.close();
	}

	@ParameterizedTest(
			name = "F16 A waiter is interrupted: it leaves the queue, and the next waiter is granted at once ({0})")
	@EnumSource
	void interruptedWait(Pool pool) {
		Instance instance = this.fleet.start();
		Instance other = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		Instance third = this.fleet.start();
		PoolRequest request = new PoolRequest(pool, KEY).waitTime(Duration.ofMinutes(1))
			.leaseTime(Duration.ofMinutes(5));
		this.fleet.awaitListening(3);
		Lease held = request.acquire(third);
		CompletableFuture<Throwable> failure = new CompletableFuture<>();
		Thread waiter = new Thread(() -> {
			try {
				request.all().acquire(instance);
			}
			catch (NotAcquiredException ex) {
				ex.addSuppressed(new Exception("flag: " + Thread.currentThread().isInterrupted()));
				failure.complete(ex);
			}
		});
		waiter.start();
		pool.awaitQueued(this.fleet, KEY, 1);
		// This request would fit, except for a lock, but does not pass the request before
		// it.
		CompletableFuture<Lease> behind = request.acquireInBackground(other);
		pool.awaitQueued(this.fleet, KEY, 2);
		assertThat(behind).isNotDone();
		waiter.interrupt();
		assertThat(failure).succeedsWithin(SOON).satisfies((ex) -> {
			assertThat(((NotAcquiredException) ex).getReason()).isEqualTo(Reason.INTERRUPTED);
			assertThat(ex).hasCauseInstanceOf(InterruptedException.class);
			assertThat(ex.getSuppressed()[0]).hasMessage("flag: true");
		});
		if (pool == Pool.LOCK) {
			held.close();
		}
		assertThat(behind).succeedsWithin(SOON).satisfies(Lease::release);
		held.close();
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

	@ParameterizedTest(
			name = "F16 F17 With the interrupt flag set, acquire is refused without a command; release and close are done; the flag is kept ({0})")
	@EnumSource
	void flagIsSet(Pool pool) {
		Instance instance = this.fleet.start();
		PoolRequest request = new PoolRequest(pool, KEY).waitTime(SOON);
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(NotAcquiredException.class).isThrownBy(() -> request.acquire(instance))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.INTERRUPTED));
		assertThat(Thread.interrupted()).as("flag").isTrue();
		assertThat(this.fleet.observer().hasKey(pool.stateKey(this.fleet, KEY))).isFalse();
		Lease lease = request.all().acquire(instance);
		Thread.currentThread().interrupt();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(Thread.interrupted()).as("flag").isTrue();
		assertThat(pool.holders(this.fleet, KEY)).isZero();
		try (Lease again = request.all().acquire(instance)) {
			assertThat(again.isHeld()).isTrue();
			Thread.currentThread().interrupt();
		}
		assertThat(Thread.interrupted()).as("flag").isTrue();
		pool.assertAllFree(this.fleet, KEY, instance);
	}

}
