package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * What one instance holds and another waits for: a lock, all permits of a semaphore, and
 * a key to write. Not thread-safe.
 */
final class Claims {

	private final Fleet fleet;

	private final String key;

	private final Duration leaseTime;

	private final List<Lease> held = new ArrayList<>();

	private final List<CompletableFuture<? extends Lease>> waiting = new ArrayList<>();

	private final CountDownLatch losses;

	/**
	 * Take one of each.
	 * @param fleet where
	 * @param key what their keys begin with
	 * @param leaseTime of all of them
	 * @param holder takes them
	 */
	Claims(Fleet fleet, String key, Duration leaseTime, Instance holder) {
		this.fleet = fleet;
		this.key = key;
		this.leaseTime = leaseTime;
		this.held.add(holder.acquire(lock()));
		for (Pool pool : Pool.values()) {
			this.held.add(all(pool).acquire(holder));
		}
		this.losses = new CountDownLatch(this.held.size());
		this.held.forEach((lease) -> lease.onLost(this.losses::countDown));
	}

	private LockRequest lock() {
		return LockRequest.of(this.key).leaseTime(this.leaseTime).waitTime(Duration.ofMinutes(2));
	}

	private PoolRequest all(Pool pool) {
		return new PoolRequest(pool, this.key + pool).leaseTime(this.leaseTime).waitTime(Duration.ofMinutes(2)).all();
	}

	/**
	 * Have an instance wait for each. Returns when it stands in all queues.
	 * @param waiter who
	 * @return these
	 */
	Claims waitedForBy(Instance waiter) {
		this.waiting.add(waiter.acquireInBackground(lock()));
		this.fleet.awaitQueued(this.key);
		for (Pool pool : Pool.values()) {
			this.waiting.add(all(pool).acquireInBackground(waiter));
			pool.awaitQueued(this.fleet, this.key + pool, 1);
		}
		return this;
	}

	/** Wait until Redis was told of all, that they go on. */
	void awaitRenewed() {
		Duration renewed = this.leaseTime.dividedBy(4).multipliedBy(3);
		await("renewal of all kinds").atMost(SOON.plus(this.leaseTime)).until(() -> {
			boolean all = this.fleet.timeToLive(this.key).compareTo(renewed) > 0;
			for (Pool pool : Pool.values()) {
				all &= pool.leaseLeft(this.fleet, this.key + pool).compareTo(renewed) > 0;
			}
			return all;
		});
	}

	void assertHeld() {
		assertThat(this.losses.getCount()).as("not lost").isEqualTo(this.held.size());
		assertThat(this.held).allMatch(Lease::isHeld);
		assertThat(this.waiting).noneMatch(CompletableFuture::isDone);
	}

	void assertLostWithin(Duration time) throws InterruptedException {
		assertThat(this.losses.await(time.toMillis(), TimeUnit.MILLISECONDS)).as("told of all losses in time").isTrue();
		assertThat(this.held).noneMatch(Lease::isHeld);
	}

	void assertReleaseRefused() {
		for (Lease lease : this.held) {
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(lease::release);
			assertThat(lease.isHeld()).isFalse();
		}
	}

	/**
	 * Release one after the other, and have who waits for it get it, and release it too.
	 */
	void assertHandedOver() {
		for (int i = 0; i < this.held.size(); i++) {
			assertThat(this.held.get(i).release()).isEqualTo(ReleaseResult.RELEASED);
			assertGranted(i);
		}
	}

	/** Check that who waits has his turn with each. */
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
