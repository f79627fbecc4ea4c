package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockView;
import io.holdfast.ReadWriteLockView;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Lifetime of leases: as long as they are renewed, and no longer.
 */
@ExtendWith(OutputCaptureExtension.class)
class RenewalTests extends FaultTestCase {

	private static final String KEY = "renewal";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON);

	@Test
	@DisplayName("A lease that is released during its extension does not pass the extended time to the next holder")
	void releasedWhileExtended() {
		try (FaultProxy proxy = this.fleet.proxy()) {
			Instance instance = this.fleet.start(proxy, "holdfast.lock.lease-time=20s",
					"holdfast.lock.local-hand-over.max-count=16", "holdfast.lock.local-hand-over.max-time=15s");
			LockLease lease = instance.acquire(REQUEST);
			CompletableFuture<LockLease> next = instance.locks().acquireAsync(REQUEST);
			proxy.delay(Duration.ofSeconds(1));
			CompletableFuture<?> extended = Instance.inBackground(() -> {
				lease.extend(Duration.ofHours(1));
				return "extended";
			});
			await("extension").atMost(SOON)
				.until(() -> this.fleet.timeToLive(KEY).compareTo(Duration.ofMinutes(1)) > 0);
			lease.release();
			assertThat(next).succeedsWithin(SOON);
			assertThat(this.fleet.timeToLive(KEY)).isLessThan(Duration.ofMinutes(1));
			await("answer").atMost(SOON).until(extended::isDone);
			assertThat(next.join().remaining()).isLessThan(Duration.ofMinutes(1));
			proxy.pass();
			next.join().release();
			this.fleet.awaitNothingLeft();
		}
	}

	@Slow
	@Test
	@DisplayName("F23 Nested locks, readers in a writer and permits have a single renewal each, and none after the"
			+ " last release")
	void reentry() {
		try (Fleet own = Fleet.on(this.redis, this.redis.startServer())) {
			// Polling, since a watched subscription sends commands, too.
			Instance instance = own.start("holdfast.wake-up.mode=polling", "holdfast.lock.lease-time=600ms",
					"holdfast.semaphore.lease-time=600ms");
			LockView lock = instance.locks().asLock(KEY);
			ReadWriteLockView pair = instance.locks().asReadWriteLock("pair");
			List<Lock> nested = List.of(lock, lock, lock, lock, lock, pair.writeLock(), pair.readLock(),
					pair.readLock());
			nested.forEach(Lock::lock);
			Lease permits = instance.acquire(SemaphoreRequest.of(KEY, 5).permits(2));
			assertThat(lock.getHoldCount()).isEqualTo(5);
			long before = own.scripts();
			long begun = System.nanoTime();
			Duration threeLeases = Duration.ofMillis(1800);
			await("three leases").pollDelay(threeLeases).atMost(SOON).until(lock::isLocked);
			assertThat(lock.isHeldByCurrentThread()).isTrue();
			assertThat(Pool.SEMAPHORE.holders(own, KEY)).isOne();
			long renewals = own.scripts() - before;
			// Three keys, each third, less jitter; on a busy machine, where answers or
			// timers
			// are late, each sixth. Nine leases send nine each third.
			long sixths = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun) / 100;
			assertThat(renewals).as("renewals").isBetween(3L, 3 * sixths + 6);
			permits.close();
			nested.subList(1, 7).forEach(Lock::unlock);
			assertThat(lock.isHeldByCurrentThread()).isTrue();
			assertThat(own.isLocked(KEY)).isTrue();
			assertThat(Pool.READ_WRITE.holders(own, "pair")).isOne();
			lock.unlock();
			pair.readLock().unlock();
			own.awaitNothingLeft();
			long after = own.scripts();
			await("no renewal").during(threeLeases).atMost(SOON).until(() -> own.scripts() == after);
		}
	}

	@Test
	@DisplayName("A lease is held for more than two lease times while it is renewed")
	void renewed() {
		LockLease lease = this.fleet.start().acquire(REQUEST.leaseTime(Duration.ofSeconds(2)));
		await("still held").during(Duration.ofMillis(4500))
			.atMost(SOON)
			.until(() -> lease.isHeld() && this.fleet.isLocked(KEY));
		lease.ensureHeld();
		assertThat(lease.remaining()).isBetween(Duration.ofMillis(1), Duration.ofSeconds(2));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A lease that expires during the work: noticed, and its release leaves the next owner alone")
	void expiry() throws InterruptedException {
		Instance instance = this.fleet.start();
		LockLease lease = instance.acquire(REQUEST.leaseTime(Duration.ofMillis(500)).autoRenew(false));
		CountDownLatch lost = new CountDownLatch(1);
		lease.onLost(lost::countDown);
		try (LockLease next = this.fleet.start().acquire(REQUEST)) {
			assertThat(lease.isHeld()).isFalse();
			assertThat(lost.await(SOON.toMillis(), TimeUnit.MILLISECONDS)).as("loss noticed").isTrue();
			assertThat(lease.remaining()).isZero();
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld)
				.withMessageContaining(KEY);
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.extend(Duration.ofSeconds(30)));
			assertThat(instance.tryAcquire(KEY)).as("requested again by the same thread").isEmpty();
			assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
			assertThat(instance.tryAcquire(KEY)).as("the next owner's key").isEmpty();
			next.extend(Duration.ofSeconds(40));
			assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
		}
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("The longest hold ends the renewal, and so the lease")
	void maxHold(CapturedOutput output) {
		LockRequest request = REQUEST.leaseTime(Duration.ofSeconds(1)).maxHold(Duration.ofSeconds(2));
		long start = System.nanoTime();
		LockLease lease = this.fleet.start().acquire(request);
		await("end of the lease").atMost(SOON).until(() -> !lease.isHeld());
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofSeconds(2))
			.isLessThan(Duration.ofSeconds(6));
		await("the key's end").atMost(SOON).until(() -> !this.fleet.isLocked(KEY));
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
		assertThat(output).contains("it was held for longer than its maxHold").doesNotContain("not renewed in time");
	}

	@Test
	@DisplayName("A forced release of a lease without renewal is not logged as an expired lease")
	void takenAwayWithoutRenewal(CapturedOutput output) {
		Instance instance = this.fleet.start();
		LockLease lease = instance.acquire(REQUEST.autoRenew(false));
		assertThat(instance.locks().admin().forceRelease(KEY)).isTrue();
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
		assertThat(output).containsPattern("\\(fence \\d+\\) was lost after \\d+ ms: it was released by force")
			.doesNotContain("took longer than its lease time");
	}

	@Test
	@DisplayName("An extension lengthens a lease once, and never shortens it")
	void renew() {
		LockLease lease = this.fleet.start().acquire(REQUEST.leaseTime(Duration.ofSeconds(2)).autoRenew(false));
		lease.extend(Duration.ofSeconds(60));
		assertThat(lease.remaining()).isBetween(Duration.ofSeconds(50), Duration.ofSeconds(60));
		assertThat(this.fleet.timeToLive(KEY)).isBetween(Duration.ofSeconds(50), Duration.ofSeconds(60));
		lease.extend(Duration.ofSeconds(1));
		assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(50));
		assertThat(this.fleet.timeToLive(KEY)).isGreaterThan(Duration.ofSeconds(50));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.extend(Duration.ofSeconds(60)));
		this.fleet.awaitNothingLeft();
	}

}
