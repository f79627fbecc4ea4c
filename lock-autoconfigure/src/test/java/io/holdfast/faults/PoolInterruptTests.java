package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReadWriteLockView;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * What stays of permits when threads that acquire them are interrupted, and when the last
 * of them is released: nothing.
 */
class PoolInterruptTests extends FaultTestCase {

	private static final String KEY = "interrupted";

	private static final int INTERRUPTS = 600;

	@AfterEach
	void close() {
		Thread.interrupted();
		this.fleet.close();
	}

	@ParameterizedTest(
			name = "F16 hundreds of interrupts while acquiring: the documented exception, and nothing held or queued ({0})")
	@EnumSource
	void interruptedAcquire(Pool pool) {
		Instance instance = this.fleet.start();
		Instance other = this.fleet.start();
		PoolRequest request = new PoolRequest(pool, KEY).waitTime(Duration.ofMinutes(1));
		InterruptStorm.run(List.of(() -> request.acquire(instance), () -> request.all().acquire(instance),
				() -> request.all().acquire(other), () -> request.acquire(other)), INTERRUPTS);
		this.fleet.awaitNothingLeft();
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

	@ParameterizedTest(
			name = "F16 a waiter is interrupted: it leaves the queue, and who waits behind it has its turn at once ({0})")
	@EnumSource
	void interruptedWait(Pool pool) {
		Instance instance = this.fleet.start();
		Instance other = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		PoolRequest request = new PoolRequest(pool, KEY).waitTime(Duration.ofMinutes(1))
			.leaseTime(Duration.ofMinutes(5));
		this.fleet.awaitListening(2);
		Lease held = request.acquire(instance);
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
		// It would fit, but does not pass the one before it.
		CompletableFuture<Lease> behind = request.acquireInBackground(other);
		pool.awaitQueued(this.fleet, KEY, 2);
		assertThat(behind).isNotDone();
		waiter.interrupt();
		assertThat(failure).succeedsWithin(SOON).satisfies((ex) -> {
			assertThat(((NotAcquiredException) ex).getReason()).isEqualTo(Reason.INTERRUPTED);
			assertThat(ex).hasCauseInstanceOf(InterruptedException.class);
			assertThat(ex.getSuppressed()[0]).hasMessage("flag: true");
		});
		assertThat(behind).succeedsWithin(SOON).satisfies(Lease::release);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

	@ParameterizedTest(
			name = "F16 F17 the flag is set before: acquire is refused and Redis not asked; release is done, the flag kept ({0})")
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
		pool.assertAllFree(this.fleet, KEY, instance);
	}

	@Slow
	@Test
	@DisplayName("F23 permits and locks with nested readers are not renewed after their last release")
	void noRenewalIsLeft() {
		try (Fleet own = Fleet.on(this.redis, this.redis.startServer())) {
			// Polling, as a watched subscription sends commands, too.
			Instance instance = own.start("holdfast.wake-up.mode=polling", "holdfast.lock.lease-time=600ms",
					"holdfast.semaphore.lease-time=600ms");
			SemaphoreRequest permits = SemaphoreRequest.of(KEY, 5);
			ReadWriteLockView lock = instance.locks().asReadWriteLock(KEY);
			Lease two = instance.acquire(permits.permits(2));
			Lease one = instance.acquire(permits);
			lock.writeLock().lock();
			lock.readLock().lock();
			lock.readLock().lock();
			Duration threeLeases = Duration.ofMillis(1800);
			long before = own.scripts();
			await("three leases").pollDelay(threeLeases).atMost(SOON).until(() -> true);
			// At least two kinds, nine thirds each, at most two leases each, and slack.
			assertThat(own.scripts() - before).as("renewals").isBetween(6L, 60L);
			assertThat(Pool.SEMAPHORE.holders(own, KEY)).isEqualTo(2);
			assertThat(Pool.READ_WRITE.holders(own, KEY)).isEqualTo(1);
			one.close();
			two.close();
			lock.writeLock().unlock();
			lock.readLock().unlock();
			assertThat(Pool.READ_WRITE.holders(own, KEY)).isEqualTo(1);
			lock.readLock().unlock();
			own.awaitNothingLeft();
			long after = own.scripts();
			await("no renewal").during(threeLeases).atMost(SOON).until(() -> own.scripts() == after);
		}
	}

}
