package io.holdfast.faults;

import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A lock that its instance keeps after the release, because of
 * {@code holdfast.lock.keep-warm}.
 */
class KeptLockTests extends FaultTestCase {

	private static final String KEY = "kept";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON);

	private Instance start() {
		Instance instance = this.fleet.start("holdfast.lock.keep-warm=1s");
		this.fleet.awaitListening(1);
		return instance;
	}

	@Test
	@DisplayName("the next request within the instance has it with the next fence, and then it is given back")
	void takenAgain() {
		Instance one = start();
		LockLease first = one.acquire(REQUEST);
		first.close();
		try (LockLease second = one.acquire(REQUEST)) {
			assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
		}
		assertThat(this.fleet.fence(KEY)).isEqualTo(first.fencingToken());
		await().atMost(SOON).until(() -> !this.fleet.isLocked(KEY));
	}

	@Test
	@DisplayName("requests of two instances have it, one after the other, and the fences grow")
	void wantedByAnotherInstance() {
		Instance one = start();
		Instance other = this.fleet.start("holdfast.lock.keep-warm=1s");
		this.fleet.awaitListening(2);
		long fence = 0;
		for (int i = 0; i < 10; i++) {
			try (LockLease lease = ((i % 2 == 0) ? one : other).acquire(REQUEST)) {
				assertThat(lease.fencingToken()).isGreaterThan(fence);
				fence = lease.fencingToken();
			}
		}
	}

	@Test
	@DisplayName("a waiter of another instance has a turn while it is taken again and again")
	void wantedWhileInUse() throws Exception {
		Instance one = start();
		LockLease held = one.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = this.fleet.start().acquireInBackground(REQUEST);
		await().atMost(SOON).until(() -> this.fleet.queued(KEY) == 1);
		held.close();
		while (!waiting.isDone()) {
			one.locks().tryAcquire(REQUEST.waitTime(SOON.dividedBy(1000))).ifPresent(LockLease::release);
		}
		waiting.get().close();
	}

	@Test
	@DisplayName("a request in another mode within the instance need not wait for its end")
	void readAfterwards() {
		Instance one = start();
		one.acquire(REQUEST).close();
		try (LockLease reading = one.acquire(REQUEST.mode(LockMode.READ))) {
			assertThat(reading.isHeld()).isTrue();
		}
	}

	@Test
	@DisplayName("nothing is left when the application ends")
	void shutDown() {
		Instance one = start();
		one.acquire(REQUEST).close();
		assertThat(this.fleet.isLocked(KEY)).isTrue();
		one.close();
		assertThat(this.fleet.isLocked(KEY)).isFalse();
	}

}
