package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import io.holdfast.Lease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;

/**
 * A request for a share or all of a {@link Pool}: for a permit or all permits, or to read
 * or to write. Not re-entrant, since a test plays several users.
 *
 * @param pool the kind
 * @param key the key
 * @param isAll whether the request is for all
 * @param waitTime the longest wait
 * @param leaseTime the lease time without renewal
 */
record PoolRequest(Pool pool, String key, boolean isAll, Duration waitTime, Duration leaseTime) {

	/** Number of permits of each semaphore. */
	static final int LIMIT = 3;

	/** For a share, without waiting. */
	PoolRequest(Pool pool, String key) {
		this(pool, key, false, Duration.ZERO, Duration.ofMinutes(1));
	}

	PoolRequest all() {
		return new PoolRequest(this.pool, this.key, true, this.waitTime, this.leaseTime);
	}

	PoolRequest waitTime(Duration waitTime) {
		return new PoolRequest(this.pool, this.key, this.isAll, waitTime, this.leaseTime);
	}

	PoolRequest leaseTime(Duration leaseTime) {
		return new PoolRequest(this.pool, this.key, this.isAll, this.waitTime, leaseTime);
	}

	Lease acquire(Instance instance) {
		return isSemaphore() ? instance.semaphores().acquire(semaphore()) : instance.locks().acquire(lock());
	}

	/** Acquire on another thread, like most code that waits. */
	CompletableFuture<Lease> acquireInBackground(Instance instance) {
		return Instance.inBackground(() -> acquire(instance));
	}

	CompletableFuture<? extends Lease> acquireAsync(Instance instance) {
		return isSemaphore() ? instance.semaphores().acquireAsync(semaphore()) : instance.locks().acquireAsync(lock());
	}

	/** Once, without waiting. */
	Optional<? extends Lease> tryAcquire(Instance instance) {
		return waitTime(Duration.ZERO).tryAcquireInTime(instance);
	}

	/** All further shares, without waiting. */
	List<Lease> acquireRest(Instance instance) {
		return IntStream.range(1, this.pool.shares())
			.<Lease>mapToObj((i) -> tryAcquire(instance).orElseThrow())
			.toList();
	}

	/** For the wait time. */
	Optional<? extends Lease> tryAcquireInTime(Instance instance) {
		return isSemaphore() ? instance.semaphores().tryAcquire(semaphore()) : instance.locks().tryAcquire(lock());
	}

	/** Return the store's state of the key. */
	Object status(Instance instance) {
		return isSemaphore() ? instance.semaphores().status(this.key) : instance.locks().status(this.key);
	}

	/** Send each script once, so that Redis knows the scripts. */
	void warmUp(Instance instance) {
		try (Lease lease = new PoolRequest(this.pool, "warm-up").acquire(instance)) {
			lease.extend(Duration.ofMinutes(2));
			lease.release();
		}
	}

	private boolean isSemaphore() {
		return this.pool == Pool.SEMAPHORE;
	}

	private SemaphoreRequest semaphore() {
		return SemaphoreRequest.of(this.key, LIMIT)
			.permits(this.isAll ? LIMIT : 1)
			.waitTime(this.waitTime)
			.leaseTime(this.leaseTime);
	}

	private LockRequest lock() {
		return LockRequest.of(this.key)
			.mode((this.isAll || this.pool == Pool.LOCK) ? LockMode.EXCLUSIVE : LockMode.READ)
			.reentrant(false)
			.waitTime(this.waitTime)
			.leaseTime(this.leaseTime);
	}

}
