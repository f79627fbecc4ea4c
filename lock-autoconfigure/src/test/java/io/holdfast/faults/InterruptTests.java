package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Threads are interrupted while they acquire and while they release.
 */
class InterruptTests extends FaultTestCase {

	private static final String KEY = "interrupted";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(Duration.ofMinutes(1));

	private static final int INTERRUPTS = 3000;

	@AfterEach
	void close() {
		Thread.interrupted();
		this.fleet.close();
	}

	@Slow
	@Test
	@DisplayName("F16 thousands of interrupts while acquiring: the documented exception, and nothing held or queued")
	void interruptedAcquire() {
		Instance instance = this.fleet.start();
		Instance other = this.fleet.start();
		InterruptStorm.run(
				List.of(() -> instance.acquire(REQUEST), () -> instance.acquire(REQUEST), () -> other.acquire(REQUEST)),
				INTERRUPTS);
		this.fleet.awaitNothingLeft();
		assertThat(instance.tryAcquire(KEY)).hasValueSatisfying(LockLease::release);
		assertThat(other.tryAcquire(KEY)).hasValueSatisfying(LockLease::release);
	}

	@Test
	@DisplayName("F16 a waiter is interrupted: it is told so at once, leaves the queue, and others keep their turns")
	void interruptedWait() throws InterruptedException {
		Instance instance = this.fleet.start();
		LockLease held = instance.acquire(REQUEST);
		Instance other = this.fleet.start();
		CompletableFuture<Throwable> failure = new CompletableFuture<>();
		Thread waiter = new Thread(() -> {
			try {
				other.acquire(REQUEST);
			}
			catch (LockNotAcquiredException ex) {
				ex.addSuppressed(new Exception("flag: " + Thread.currentThread().isInterrupted()));
				failure.complete(ex);
			}
		});
		waiter.start();
		this.fleet.awaitQueued(KEY);
		waiter.interrupt();
		assertThat(failure).succeedsWithin(SOON).satisfies((ex) -> {
			assertThat(((LockNotAcquiredException) ex).getReason()).isEqualTo(Reason.INTERRUPTED);
			assertThat(ex).hasCauseInstanceOf(InterruptedException.class);
			assertThat(ex.getSuppressed()[0]).hasMessage("flag: true");
		});
		await("an empty queue").atMost(SOON).until(() -> this.fleet.queued(KEY) == 0);
		CompletableFuture<LockLease> next = other.acquireInBackground(REQUEST);
		this.fleet.awaitQueued(KEY);
		held.release();
		assertThat(next).succeedsWithin(SOON).satisfies(LockLease::release);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F16 the flag is set before acquire: refused, the flag is kept, and Redis is not asked")
	void interruptedBeforeAcquire() {
		Instance instance = this.fleet.start();
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> instance.acquire(REQUEST))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.INTERRUPTED));
		assertThat(Thread.interrupted()).as("flag").isTrue();
		assertThat(this.fleet.fence(KEY)).isZero();
	}

	@Test
	@DisplayName("F16 the lock as java.util.concurrent.locks.Lock: interruptible or not, as its methods promise")
	void lockView() throws InterruptedException {
		LockView lock = this.fleet.start().locks().asLock(KEY);
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(InterruptedException.class).isThrownBy(lock::lockInterruptibly);
		assertThat(Thread.interrupted()).as("flag").isFalse();
		Thread.currentThread().interrupt();
		lock.lock();
		assertThat(Thread.currentThread().isInterrupted()).as("flag").isTrue();
		assertThat(lock.isHeldByCurrentThread()).isTrue();
		lock.unlock();
		assertThat(Thread.interrupted()).as("flag").isTrue();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F17 the flag is set before release: the key is removed, and the flag kept")
	void interruptedRelease() {
		Instance instance = this.fleet.start();
		LockLease lease = instance.acquire(REQUEST);
		Thread.currentThread().interrupt();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(Thread.interrupted()).as("flag").isTrue();
		assertThat(this.fleet.isLocked(KEY)).isFalse();
		try (LockLease again = instance.acquire(REQUEST)) {
			assertThat(again.isHeld()).isTrue();
			Thread.currentThread().interrupt();
		}
		assertThat(Thread.interrupted()).as("flag").isTrue();
		this.fleet.awaitNothingLeft();
	}

}
