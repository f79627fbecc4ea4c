package io.holdfast.reactive;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;

final class ScriptedLease implements LockLease {

	final AtomicInteger releases = new AtomicInteger();

	/** Answer to the release. */
	final CompletableFuture<ReleaseResult> answer = new CompletableFuture<>();

	private final List<Runnable> lossActions = new CopyOnWriteArrayList<>();

	private volatile boolean lost;

	/** Lease with an immediate answer to its release. */
	static ScriptedLease obliging() {
		ScriptedLease lease = new ScriptedLease();
		lease.answer.complete(ReleaseResult.RELEASED);
		return lease;
	}

	void lose() {
		this.lost = true;
		this.lossActions.forEach(Runnable::run);
	}

	@Override
	public String key() {
		return "scripted";
	}

	@Override
	public long fencingToken() {
		return 7;
	}

	@Override
	public boolean isHeld() {
		return !this.lost && this.releases.get() == 0;
	}

	@Override
	public Duration remaining() {
		return Duration.ofSeconds(30);
	}

	@Override
	public void extend(Duration leaseTime) {
		throw new UnsupportedOperationException();
	}

	@Override
	public void onLost(Runnable action) {
		this.lossActions.add(action);
	}

	@Override
	public void ensureHeld() {
		if (!isHeld()) {
			throw new LeaseLostException(key(), "lost");
		}
	}

	@Override
	public ReleaseResult release() {
		throw new UnsupportedOperationException("It blocks");
	}

	@Override
	public CompletableFuture<ReleaseResult> releaseAsync() {
		this.releases.incrementAndGet();
		return this.lost ? CompletableFuture.completedFuture(ReleaseResult.LOST) : this.answer;
	}

	@Override
	public void close() {
		throw new UnsupportedOperationException("It blocks");
	}

}
