package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.FencedLease;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Lease object of a user: one of the open leases on a {@link Hold}.
 */
abstract class LeaseHandle extends EngineLease {

	final Hold hold;

	/** Result of the release. {@code null} before the release. */
	private final AtomicReference<@Nullable CompletableFuture<ReleaseResult>> releaseResult = new AtomicReference<>();

	/** Whether the hold's thread requested this lease. */
	private final boolean requestedByHolder;

	/** Request of this lease. Its terms may differ from those of the hold's request. */
	final ResolvedRequest request;

	/**
	 * Whether the hold's minHold belongs to this lease. A nested lease has none, unless
	 * it repeats failed work, as in a transaction that keeps the lock.
	 */
	private final boolean hasMinHold;

	/** Time of the grant or, for a request for several keys, of the last key's grant. */
	private volatile long openedAt;

	/**
	 * Whether other keys of the request are still waited for. Such a lease is always
	 * renewed.
	 */
	private volatile boolean awaitingOtherKeys;

	private volatile boolean callerGone;

	/** Actions on a loss of the hold. Guarded by the hold. */
	private List<Runnable> lossActions = List.of();

	private LeaseHandle(Hold hold, Waiter requester, long now) {
		this.hold = hold;
		this.requestedByHolder = requester.thread != null && requester.thread == hold.thread;
		this.request = requester.request;
		this.hasMinHold = this.request == hold.request || this.request.minHoldNanos() > 0 && hold.restoreMinHold();
		this.openedAt = now;
		this.awaitingOtherKeys = requester.multiKeyPart;
	}

	/** Create a lease of a lock or of permits on a hold. */
	static LeaseHandle of(Hold hold, Waiter requester, long now) {
		return (hold.request.resource().kind() == Kind.SEMAPHORE) ? new PermitHandle(hold, requester, now)
				: new LockHandle(hold, requester, now);
	}

	// Terms

	/**
	 * Note that all keys of the request are granted. Called by the hold only, under its
	 * lock.
	 */
	final void endWaitForOthers(long now) {
		if (this.awaitingOtherKeys) {
			this.openedAt = now;
			this.awaitingOtherKeys = false;
		}
	}

	/**
	 * Return the time of the grant or, for a request for several keys, of the last key's
	 * grant.
	 */
	final long openedAt() {
		return this.openedAt;
	}

	/** Return whether other keys of the request are still waited for. */
	final boolean isAwaitingOtherKeys() {
		return this.awaitingOtherKeys;
	}

	/** Return whether this lease has renewal, even if its maxHold is over. */
	final boolean isRenewed() {
		return this.awaitingOtherKeys || this.request.renewal();
	}

	/** Return whether this lease is renewed at a time. */
	final boolean isRenewed(long now) {
		return this.awaitingOtherKeys || this.request.renewal() && now - this.openedAt < this.request.maxHoldNanos();
	}

	final long leaseMillis() {
		return this.request.leaseMillis();
	}

	/** Return the time left without renewal, in milliseconds. */
	final long leftMillis(long now) {
		return this.request.leaseMillis() - TimeUnit.NANOSECONDS.toMillis(now - this.openedAt);
	}

	/** Return the end of validity that a separate grant for this lease would have. */
	final long validIfGranted() {
		return this.openedAt + Hold.validity(this.request.leaseMillis());
	}

	/**
	 * Return whether this lease lets the hold's thread re-enter, as the thread has
	 * requested it itself. Not while other keys of the request are waited for, nor after
	 * the release has begun.
	 */
	final boolean allowsReentry() {
		return this.requestedByHolder && !this.awaitingOtherKeys && !isReleased();
	}

	/** Return whether code runs under this lease, whose release has not begun. */
	final boolean isForCode() {
		return this.request.forCode() && !this.awaitingOtherKeys && !isReleased();
	}

	@Override
	final EngineContext context() {
		return this.hold.queue.context;
	}

	@Override
	final List<Hold> holds() {
		return List.of(this.hold);
	}

	@Override
	final Resource resource() {
		return this.hold.resource();
	}

	@Override
	public boolean isHeld() {
		return !isReleased() && this.hold.isHeld(context().scheduler.nanoTime());
	}

	@Override
	public final boolean isReleased() {
		return this.releaseResult.get() != null;
	}

	@Override
	public Duration remaining() {
		return isHeld() ? Duration.ofNanos(Math.max(0, this.hold.validUntil() - context().scheduler.nanoTime()))
				: Duration.ZERO;
	}

	@Override
	public void ensureHeld() {
		if (!isHeld()) {
			throw new LeaseLostException(key(), "The lease of " + this.hold.description() + " is not held any more: it "
					+ (isReleasedOnly() ? "was released" : "was lost, because " + this.hold.whyNotHeld()));
		}
	}

	/**
	 * Return whether this lease was released and was not lost before, as far as is known.
	 */
	private boolean isReleasedOnly() {
		CompletableFuture<ReleaseResult> end = this.releaseResult.get();
		if (end == null) {
			return false;
		}
		// Prefer this lease's own result: the hold may have been lost later, under
		// another lease.
		return (end.isDone() && !end.isCompletedExceptionally()) ? BlockingWait.join(end) != ReleaseResult.LOST
				: !this.hold.isLost();
	}

	@Override
	public void onLost(Runnable action) {
		if (!this.hold.onLost(this, action) && !isReleased()) {
			this.hold.queue.renewer().callOnLoss(action);
		}
	}

	/** Add an action on a loss. Called by the hold only, under its lock. */
	final void addLossAction(Runnable action) {
		this.lossActions = this.lossActions.isEmpty() ? new ArrayList<>(1) : this.lossActions;
		this.lossActions.add(action);
	}

	/**
	 * Remove and return the actions on a loss. Called by the hold only, under its lock.
	 */
	final List<Runnable> takeLossActions() {
		List<Runnable> taken = this.lossActions;
		this.lossActions = List.of();
		return taken;
	}

	@Override
	public void markCallerGone() {
		this.callerGone = true;
		RequestObservation observing = this.hold.observation;
		if (observing != null && this == this.hold.first) {
			observing.callerGone();
		}
	}

	/** Return whether the caller of the code under this lease has gone. */
	final boolean isCallerGone() {
		return this.callerGone;
	}

	/** Have the release take effect at once, as {@link LockLease#waiveMinHold()}. */
	public final void waiveMinHold() {
		if (this.hasMinHold) {
			this.hold.waiveMinHold();
		}
	}

	@Override
	final CompletableFuture<ReleaseResult> startRelease(boolean used, boolean blocking) {
		CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
		if (!this.releaseResult.compareAndSet(null, result)) {
			return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
		}
		execute(blocking, () -> this.hold.queue.releaseLease(this.hold, this, used, result));
		return result;
	}

	@Override
	final CompletableFuture<?> startUnawaitedRelease(boolean blocking) {
		CompletableFuture<ReleaseResult> answer = new CompletableFuture<>();
		if (!this.releaseResult.compareAndSet(null, answer)) {
			return CompletableFuture.completedFuture(null);
		}
		CompletableFuture<@Nullable Void> mayContinue = new CompletableFuture<>();
		execute(blocking, () -> {
			try {
				this.hold.queue.releaseLease(this.hold, this, true, answer);
			}
			finally {
				this.hold.queue.releases().letCallerContinue(answer, mayContinue);
			}
		});
		return mayContinue;
	}

	private void execute(boolean blocking, Runnable release) {
		RequestObservation observing = this.hold.observation;
		if (blocking && observing != null) {
			observing.call(() -> {
				this.hold.queue.execute(release);
				return release;
			});
		}
		else {
			this.hold.queue.execute(release);
		}
	}

	@Override
	final void tellObservers() {
		RequestObservation observing = this.hold.observation;
		if (observing != null) {
			observing.tellHere();
		}
	}

	@Override
	public String toString() {
		return getClass().getSimpleName() + "Lease[" + this.hold.description() + ", "
				+ (isHeld() ? remaining().toMillis() + " ms left" : "not held") + "]";
	}

	/** Lease of a lock, exclusive or for reading. */
	private static final class LockHandle extends LeaseHandle implements LockLease, FencedLease {

		LockHandle(Hold hold, Waiter requester, long now) {
			super(hold, requester, now);
		}

		@Override
		public long fencingToken() {
			return this.hold.fence;
		}

		@Override
		public boolean isFenced() {
			return this.request.fenced();
		}

	}

	/** Lease of permits. */
	private static final class PermitHandle extends LeaseHandle implements PermitLease {

		PermitHandle(Hold hold, Waiter requester, long now) {
			super(hold, requester, now);
		}

		@Override
		public int permits() {
			return this.hold.permits();
		}

	}

}
