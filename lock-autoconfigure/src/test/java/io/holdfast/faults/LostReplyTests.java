package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.Order;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Redis carries a command out, and its reply never arrives. The proxy waits for a request
 * that names the key, so that it is the one that the test sends next.
 */
class LostReplyTests extends LostReplyTestCase {

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON).leaseTime(Duration.ofSeconds(20));

	@BeforeEach
	void warmUp() {
		this.instance.warmUp();
	}

	@Test
	@DisplayName("F5 the reply to ACQUIRE lost, and the command repeated by the driver: one hold, one fence")
	void acquireRepeated() {
		this.proxy.swallowRepliesThenFin(KEY);
		LockLease lease = this.instance.acquire(REQUEST);
		assertCut();
		assertThat(this.fleet.fence(KEY)).isEqualTo(lease.fencingToken());
		assertThat(this.fleet.queued(KEY)).isZero();
		assertThat(this.other.tryAcquire(KEY)).isEmpty();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
		try (LockLease next = this.other.acquire(REQUEST)) {
			assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
		}
	}

	@Test
	@DisplayName("F5 the reply to a waiter's ACQUIRE lost, and the command repeated: it waits once, and has one turn")
	void waitingAcquireRepeated() {
		LockLease held = this.other.acquire(REQUEST);
		this.proxy.swallowRepliesThenFin(KEY);
		CompletableFuture<LockLease> waiting = this.instance.acquireInBackground(REQUEST);
		await("lost reply").atMost(SOON).until(() -> this.proxy.cuts() == 1);
		this.fleet.awaitQueued(KEY);
		assertThat(waiting).isNotDone();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F5 the reply to RELEASE lost, and the command repeated: RELEASED, and nothing left")
	void releaseRepeated() {
		LockLease lease = this.instance.acquire(REQUEST);
		this.proxy.swallowRepliesThenFin(KEY);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertCut();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F5 the reply to RELEASE lost, and not waited for: the next request of the instance finds the lock free")
	void releaseRepeatedBeforeTheNextRequest() {
		LockLease lease = this.instance.acquire(REQUEST);
		this.proxy.swallowRepliesThenFin(KEY);
		lease.close();
		assertThat(this.instance.tryAcquire(KEY)).get().satisfies((next) -> {
			assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
			next.close();
		});
		assertCut();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F5 the reply to RELEASE lost, and the command repeated: the next owner is left alone")
	void releaseRepeatedWhileTheNextOneHolds() {
		LockLease lease = this.instance.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = this.other.acquireInBackground(REQUEST);
		this.fleet.awaitQueued(KEY);
		this.proxy.swallowRepliesThenFin(KEY);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertCut();
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			assertThat(this.instance.tryAcquire(KEY)).isEmpty();
			next.extend(Duration.ofSeconds(20));
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F5 the reply to RELEASE with a next one lost, and the command repeated: the next one here is served")
	void releaseWithNextRepeated() {
		// Otherwise there is no command at all.
		Instance strict = this.fleet.start(this.proxy, Order.STRICT.properties());
		strict.warmUp();
		LockLease lease = strict.acquire(REQUEST);
		// Queued here when the call returns.
		CompletableFuture<LockLease> waiting = strict.locks().acquireAsync(REQUEST);
		this.proxy.swallowRepliesThenFin(KEY);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			assertCut();
			assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F5 the reply to RENEW lost, and the command repeated: still held, for the longer time")
	void renewRepeated() {
		LockLease lease = this.instance.acquire(REQUEST);
		this.proxy.swallowRepliesThenFin(KEY);
		lease.extend(Duration.ofSeconds(60));
		assertCut();
		assertThat(lease.isHeld()).isTrue();
		assertThat(this.fleet.timeToLive(KEY)).isGreaterThan(Duration.ofSeconds(40));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F6 the reply to ACQUIRE lost by a reset: held, or the store's trouble and cleaned up")
	void acquireReset() {
		this.proxy.swallowRepliesThenReset(KEY);
		LockLease lease = null;
		try {
			lease = this.instance.acquire(REQUEST);
		}
		catch (LeaseStoreException ex) {
			assertThat(ex.getKey()).isEqualTo(KEY);
		}
		assertCut();
		assertOneOwnerAtMost(lease);
	}

	@Test
	@DisplayName("F6 the reply to RELEASE lost by a reset: RELEASED, or the store's trouble, and the key is free")
	void releaseReset() {
		LockLease lease = this.instance.acquire(REQUEST);
		this.proxy.swallowRepliesThenReset(KEY);
		orStoreTrouble(() -> assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED));
		assertCut();
		assertOneOwnerAtMost(null);
	}

	@Test
	@DisplayName("F6 the reply to RENEW lost by a reset: still held, with the store's trouble or without")
	void renewReset() {
		LockLease lease = this.instance.acquire(REQUEST);
		this.proxy.swallowRepliesThenReset(KEY);
		orStoreTrouble(() -> lease.extend(Duration.ofSeconds(60)));
		assertCut();
		assertThat(lease.isHeld()).isTrue();
		assertOneOwnerAtMost(lease);
	}

	/** And both instances work again, long before a lease is over. */
	private void assertOneOwnerAtMost(@Nullable LockLease lease) {
		if (lease != null) {
			assertThat(this.other.tryAcquire(KEY)).isEmpty();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}
		try (LockLease next = this.other.acquire(REQUEST)) {
			assertThat(this.instance.locks().status(KEY).isLocked()).isTrue();
			assertThat(next.isHeld()).isTrue();
		}
		try (LockLease again = this.instance.acquire(REQUEST)) {
			assertThat(again.isHeld()).isTrue();
		}
		this.fleet.awaitNothingLeft();
	}

}
