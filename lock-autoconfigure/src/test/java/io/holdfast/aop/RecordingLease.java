package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.ReleaseResult;

/**
 * Lease of a recording service, whose loss and release result are set by tests.
 */
class RecordingLease implements Lease {

	private final String key;

	private final Outcome outcome;

	private final Runnable onRelease;

	private final List<Runnable> onLost = new CopyOnWriteArrayList<>();

	private boolean lost;

	private boolean released;

	/** A lease of the caller's. */
	RecordingLease(String key) {
		this(key, Outcome.RELEASED, () -> {
		});
	}

	RecordingLease(String key, Outcome outcome, Runnable onRelease) {
		this.key = key;
		this.outcome = outcome;
		this.onRelease = onRelease;
		this.lost = (outcome == Outcome.LOST);
	}

	/** Lose the lease, and wait for the notifications, which another thread sends. */
	void lose() {
		// The common pool may consist of the current thread only.
		CompletableFuture<Void> notification = CompletableFuture.runAsync(this::loseHere,
				(task) -> new Thread(task).start());
		// Other ways of waiting would clear the thread's interrupt flag for a while.
		while (!notification.isDone()) {
			Thread.onSpinWait();
		}
	}

	/** Lose the lease without a notification: only the release finds the loss. */
	synchronized void loseSilently() {
		this.lost = true;
	}

	/** Lose the lease, with notifications on this thread. */
	void loseHere() {
		synchronized (this) {
			if (this.released || this.lost) {
				return;
			}
			this.lost = true;
		}
		this.onLost.forEach(Runnable::run);
	}

	@Override
	public String key() {
		return this.key;
	}

	@Override
	public synchronized boolean isHeld() {
		return !this.lost && !this.released;
	}

	@Override
	public Duration remaining() {
		return Duration.ofSeconds(1);
	}

	@Override
	public void extend(Duration leaseTime) {
		throw new UnsupportedOperationException();
	}

	@Override
	public void onLost(Runnable action) {
		boolean late;
		synchronized (this) {
			late = this.lost;
			this.onLost.add(action);
		}
		if (late) {
			CompletableFuture.runAsync(action);
		}
	}

	@Override
	public void ensureHeld() {
		if (!isHeld()) {
			throw new LeaseLostException(this.key, "lost");
		}
	}

	@Override
	public ReleaseResult release() {
		synchronized (this) {
			if (this.released) {
				return ReleaseResult.ALREADY_RELEASED;
			}
			this.released = true;
		}
		this.onRelease.run();
		if (this.outcome == Outcome.FAILED) {
			throw new LeaseStoreException(this.key, "no answer", null);
		}
		return this.lost ? ReleaseResult.LOST : ReleaseResult.RELEASED;
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
	 * Result of a release.
	 */
	enum Outcome {

		RELEASED, LOST, FAILED

	}

}
