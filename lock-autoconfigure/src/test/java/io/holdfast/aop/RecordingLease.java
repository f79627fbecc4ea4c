package io.holdfast.aop;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.ReleaseResult;

/**
 * A lease of a recording service, released as that is told.
 */
abstract class RecordingLease implements Lease {

	private final String key;

	private final Outcome outcome;

	private final Runnable onRelease;

	RecordingLease(String key, Outcome outcome, Runnable onRelease) {
		this.key = key;
		this.outcome = outcome;
		this.onRelease = onRelease;
	}

	@Override
	public String key() {
		return this.key;
	}

	@Override
	public boolean isHeld() {
		return this.outcome != Outcome.LOST;
	}

	@Override
	public Duration remaining() {
		return Duration.ofSeconds(1);
	}

	@Override
	public void renew(Duration leaseTime) {
		throw new UnsupportedOperationException();
	}

	@Override
	public void onLost(Runnable action) {
		throw new UnsupportedOperationException();
	}

	@Override
	public void ensureHeld() {
		if (!isHeld()) {
			throw new LeaseLostException(this.key, "lost");
		}
	}

	@Override
	public ReleaseResult release() {
		this.onRelease.run();
		return switch (this.outcome) {
			case RELEASED -> ReleaseResult.RELEASED;
			case LOST -> ReleaseResult.LOST;
			case FAILED -> throw new LeaseStoreException(this.key, "no answer", null);
		};
	}

	@Override
	public CompletableFuture<ReleaseResult> releaseAsync() {
		return CompletableFuture.completedFuture(release());
	}

	@Override
	public void close() {
		release();
	}

	/**
	 * What a release finds.
	 */
	enum Outcome {

		RELEASED, LOST, FAILED

	}

}
