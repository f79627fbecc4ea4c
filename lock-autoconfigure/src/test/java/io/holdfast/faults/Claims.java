package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Leases of an instance for which another instance waits: a lock, a lock as a reader, and
 * all permits of a semaphore. Not thread-safe.
 */
final class Claims {

	private final Fleet fleet;

	private final List<PoolRequest> requests;

	private final Duration leaseTime;

	private final List<Lease> held;

	private final List<CompletableFuture<? extends Lease>> waiting = new ArrayList<>();

	private final CountDownLatch losses;

	/**
	 * Acquire a lease of each kind.
	 * @param fleet the instances
	 * @param name the name from which the keys are made
	 * @param leaseTime the lease time
	 * @param holder the holder
	 */
	Claims(Fleet fleet, String name, Duration leaseTime, Instance holder) {
		this.fleet = fleet;
		this.leaseTime = leaseTime;
		this.requests = Stream.of(Pool.values())
			.map((pool) -> new PoolRequest(pool, pool.key(name)).leaseTime(leaseTime).waitTime(Duration.ofMinutes(2)))
			.toList();
		this.held = this.requests.stream()
			.map((request) -> (request.pool() == Pool.READ_WRITE) ? request : request.all())
			.map((request) -> request.acquire(holder))
			.toList();
		this.losses = new CountDownLatch(this.held.size());
		this.held.forEach((lease) -> lease.onLost(this.losses::countDown));
	}

	/**
	 * Have an instance wait for all claims. Returns when all queues have the waiter.
	 * @param waiter the waiter
	 * @return this
	 */
	Claims waitedForBy(Instance waiter) {
		for (PoolRequest request : this.requests) {
			this.waiting.add(request.all().acquireInBackground(waiter));
			request.pool().awaitQueued(this.fleet, request.key(), 1);
		}
		return this;
	}

	/** Wait until Redis has the renewal of each lease. */
	void awaitRenewed() {
		Duration renewed = this.leaseTime.dividedBy(4).multipliedBy(3);
		await("renewal of all kinds").atMost(SOON.plus(this.leaseTime))
			.until(() -> this.requests.stream()
				.map((request) -> request.pool().leaseLeft(this.fleet, request.key()))
				.toList(), (left) -> left.stream().allMatch((time) -> time.compareTo(renewed) > 0));
	}

	void assertHeld() {
		assertThat(this.losses.getCount()).as("not lost").isEqualTo(this.held.size());
		assertThat(this.held).allMatch(Lease::isHeld);
		assertThat(this.waiting).noneMatch(CompletableFuture::isDone);
	}

	void assertLostWithin(Duration time) throws InterruptedException {
		assertThat(this.losses.await(time.toMillis(), TimeUnit.MILLISECONDS)).as("all losses noticed in time").isTrue();
		assertThat(this.held).noneMatch(Lease::isHeld);
	}

	void assertReleaseRefused() {
		for (Lease lease : this.held) {
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(lease::release);
			assertThat(lease.isHeld()).isFalse();
		}
	}

	/** Release each lease, and check the grant to its waiter. */
	void assertHandedOver() {
		for (int i = 0; i < this.held.size(); i++) {
			assertThat(this.held.get(i).release()).isEqualTo(ReleaseResult.RELEASED);
			assertGranted(i);
		}
	}

	/** Check that each waiter is granted its lease. */
	void assertGranted() {
		for (int i = 0; i < this.waiting.size(); i++) {
			assertGranted(i);
		}
	}

	private void assertGranted(int i) {
		assertThat(this.waiting.get(i)).succeedsWithin(SOON).satisfies((next) -> {
			if (this.held.get(i) instanceof LockLease before) {
				assertThat(((LockLease) next).fencingToken()).isGreaterThan(before.fencingToken());
			}
			next.extend(this.leaseTime.plusSeconds(1));
			assertThat(next.isHeld()).isTrue();
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
	}

}
