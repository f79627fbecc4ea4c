package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * A lease is released by force, or its key deleted, while its instance has waiters for a
 * hand-over. Lease times are so long that no renewal notices the loss.
 */
@WithRedis
class ForcedReleaseTests {

	private static final String KEY = "forced";

	/** So that an instance would hand leases over, on a slow machine, too. */
	private static final String[] LONG_TURNS = { "holdfast.lock.local-hand-over.max-time=1m",
			"holdfast.semaphore.local-hand-over.max-time=1m" };

	private final Fleet fleet;

	ForcedReleaseTests(TestRedis redis) {
		this.fleet = Fleet.on(redis);
	}

	enum Kind {

		EXCLUSIVE, PERMITS, READ, SEVERAL;

		private static final LockRequest LOCK = LockRequest.of(KEY)
			.leaseTime(Duration.ofMinutes(2))
			.waitTime(Duration.ofMinutes(1));

		Lease acquire(Instance instance) {
			return switch (this) {
				case EXCLUSIVE -> instance.acquire(LOCK);
				case READ -> instance.acquire(LOCK.mode(LockMode.READ));
				case PERMITS -> instance.acquire(
						SemaphoreRequest.of(KEY, 1).leaseTime(Duration.ofMinutes(2)).waitTime(Duration.ofMinutes(1)));
				case SEVERAL ->
					instance.acquire(LockRequest.ofAll(List.of(KEY, "other")).leaseTime(Duration.ofMinutes(2)));
			};
		}

		boolean force(Instance operator) {
			return (this == PERMITS) ? operator.semaphores().admin().forceRelease(KEY)
					: operator.locks().admin().forceRelease(KEY);
		}

		int waiting(Instance instance) {
			return (this == PERMITS) ? instance.semaphores().status(KEY).waitingInThisInstance()
					: instance.locks().status(KEY).waitingInThisInstance();
		}

		long fence(Lease lease) {
			return (lease instanceof LockLease lock) ? lock.fencingToken() : 0;
		}

	}

	private static CompletableFuture<Lease> waitFor(Kind kind, Instance instance) {
		CompletableFuture<Lease> waiter = Instance.inBackground(() -> kind.acquire(instance));
		await("a waiter").atMost(SOON).until(() -> kind.waiting(instance) == 1);
		return waiter;
	}

	private static Lease get(CompletableFuture<Lease> waiter) {
		return waiter.orTimeout(SOON.toSeconds(), TimeUnit.SECONDS).join();
	}

	/** Wait for the loss, which no renewal reveals, since lease times are long. */
	private static void awaitLoss(Lease lease) {
		await("loss").atMost(SOON).until(() -> !lease.isHeld());
	}

	@ParameterizedTest(name = "{0}: A lease that either instance releases by force is not handed over")
	@EnumSource(names = { "EXCLUSIVE", "PERMITS" })
	void isNotHandedOver(Kind kind) {
		Instance a = this.fleet.start(LONG_TURNS);
		Instance b = this.fleet.start(LONG_TURNS);
		this.fleet.awaitListening(2);
		for (Instance operator : List.of(b, a)) {
			Lease first = kind.acquire(a);
			CompletableFuture<Lease> other = waitFor(kind, b);
			CompletableFuture<Lease> second = waitFor(kind, a);
			assertThat(kind.force(operator)).isTrue();
			Lease granted = get(other);
			awaitLoss(first);
			assertThat(first.release()).isEqualTo(ReleaseResult.LOST);
			assertThat(kind.waiting(a)).as("waits beside the new holder").isEqualTo(1);
			assertThat(second).isNotDone();
			assertThat(granted.isHeld()).isTrue();
			assertThat(granted.release()).isEqualTo(ReleaseResult.RELEASED);
			Lease last = get(second);
			if (kind != Kind.PERMITS) {
				assertThat(kind.fence(first)).isLessThan(kind.fence(granted));
				assertThat(kind.fence(granted)).isLessThan(kind.fence(last));
			}
			assertThat(last.release()).isEqualTo(ReleaseResult.RELEASED);
		}
	}

	@ParameterizedTest(name = "{0}: A holder in another instance notices the loss, and its action runs")
	@EnumSource(Kind.class)
	void isTold(Kind kind) {
		Instance a = this.fleet.start();
		Instance b = this.fleet.start();
		this.fleet.awaitListening(2);
		Lease lease = kind.acquire(a);
		CountDownLatch noticed = new CountDownLatch(1);
		lease.onLost(noticed::countDown);
		assertThat(kind.force(b)).isTrue();
		awaitLoss(lease);
		await("action").atMost(SOON).until(() -> noticed.getCount() == 0);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld)
			.withMessageContaining("it was released by force");
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
	}

	@ParameterizedTest(name = "{0}: A polling instance notices the loss at its next renewal or release")
	@EnumSource(Kind.class)
	void polls(Kind kind) {
		Instance a = this.fleet.start("holdfast.wake-up.mode=polling");
		Instance b = this.fleet.start();
		Lease lease = kind.acquire(a);
		assertThat(kind.force(b)).isTrue();
		assertThat(lease.isHeld()).isTrue();
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
	}

	@Test
	@DisplayName("A deleted key is noticed at the next renewal: until then the lock is handed over, with a lower fence")
	void deleted() {
		Instance a = this.fleet.start(LONG_TURNS);
		Instance b = this.fleet.start();
		LockRequest request = LockRequest.of(KEY).leaseTime(Duration.ofSeconds(9)).waitTime(Duration.ofMinutes(1));
		LockLease first = a.acquire(request);
		CompletableFuture<LockLease> second = a.acquireInBackground(request);
		await("a waiter").atMost(SOON).until(() -> a.locks().status(KEY).waitingInThisInstance() == 1);
		this.fleet.observer().delete(this.fleet.lockKey(KEY));
		LockLease other = b.acquire(request);
		assertThat(first.release()).isEqualTo(ReleaseResult.RELEASED);
		LockLease heir = second.orTimeout(SOON.toSeconds(), TimeUnit.SECONDS).join();
		assertThat(heir.fencingToken()).isBetween(first.fencingToken() + 1, other.fencingToken() - 1);
		awaitLoss(heir);
		assertThat(heir.release()).isEqualTo(ReleaseResult.LOST);
		assertThat(other.release()).isEqualTo(ReleaseResult.RELEASED);
	}

}
