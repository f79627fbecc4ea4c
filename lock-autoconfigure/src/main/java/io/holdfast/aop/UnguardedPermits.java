package io.holdfast.aop;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;

/**
 * Lease of a call that runs without permits because the store failed. It is never held
 * and never lost.
 *
 * @param request the request for permits
 * @param failure the failure of the store
 */
record UnguardedPermits(SemaphoreRequest request, LeaseStoreException failure) implements PermitLease {

	@Override
	public String key() {
		return this.request.key();
	}

	@Override
	public int permits() {
		return this.request.permits();
	}

	@Override
	public boolean isHeld() {
		return false;
	}

	@Override
	public Duration remaining() {
		return Duration.ZERO;
	}

	@Override
	public void extend(Duration leaseTime) {
		ensureHeld();
	}

	@Override
	public void onLost(Runnable action) {
		// Never acquired, and therefore never lost.
	}

	@Override
	public void ensureHeld() {
		throw new LeaseLostException(key(),
				"Semaphore '" + key() + "' was not acquired: the store failed, and the method runs without a permit",
				this.failure);
	}

	@Override
	public ReleaseResult release() {
		return ReleaseResult.RELEASED;
	}

	@Override
	public CompletableFuture<ReleaseResult> releaseAsync() {
		return CompletableFuture.completedFuture(ReleaseResult.RELEASED);
	}

	@Override
	public void close() {
		// There is nothing to release.
	}

}
