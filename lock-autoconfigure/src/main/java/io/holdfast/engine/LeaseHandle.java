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
 * A lease as its user has it: one of those open on a {@link Hold}.
 */
abstract class LeaseHandle implements EngineLease {

	private final EngineContext context;

	final Hold hold;

	private final long number;

	/** Result of the release; {@code null} until it begins. */
	private final AtomicReference<@Nullable CompletableFuture<ReleaseResult>> releaseResult = new AtomicReference<>();

	/** Whether the thread of the hold asked for it. */
	private final boolean own;

	/** The request. Its terms may differ from those of the hold. */
	final ResolvedRequest request;

	/**
	 * Whether the minHold of the hold is that of its work: not of a nested lease, unless
	 * it repeats work that has failed, as in a transaction that keeps the lock.
	 */
	private final boolean hasMinHold;

	/** When it was granted or, of several together, when the last of them was. */
	private volatile long openedAt;

	/**
	 * Whether other keys of its request are still waited for: it is renewed until then.
	 */
	private volatile boolean partial;

	/** Longest time of renewals since the opening, 0 without renewal. */
	private volatile long renewedNanos;

	/** The observation of the hold, unless this lease is nested. */
	private final @Nullable RequestObservation observation;

	private volatile boolean callerGone;

	/** Its actions for a loss of the hold. Guarded by the hold. */
	private List<Runnable> lossActions = List.of();

	private LeaseHandle(Hold hold, Waiter requester, long now) {
		this.context = hold.queue.context();
		this.hold = hold;
		this.number = ++hold.opened;
		this.own = requester.thread != null && requester.thread == hold.thread;
		this.request = requester.request;
		this.hasMinHold = this.request == hold.request || this.request.minHoldNanos() > 0 && hold.restoreMinHold();
		this.observation = (requester.observation == hold.observation) ? hold.observation : null;
		this.openedAt = now;
		this.partial = requester.part;
		this.renewedNanos = this.partial ? ResolvedRequest.FOREVER : ownRenewedNanos();
	}

	/** Return a handle on a hold: of a lock, or of permits. */
	static LeaseHandle of(Hold hold, Waiter requester, long now) {
		return (hold.request.resource().kind() == Kind.SEMAPHORE) ? new PermitHandle(hold, requester, now)
				: new LockHandle(hold, requester, now);
	}

	// Its terms

	/** Note that no other keys are waited for any more: the time of its user begins. */
	final void endWaitForOthers(long now) {
		if (this.partial) {
			this.hold.leases.change(this, () -> {
				this.openedAt = now;
				this.partial = false;
				this.renewedNanos = ownRenewedNanos();
			});
		}
		this.hold.endWaitForOthers(now);
	}

	/** Return whether it is to be renewed, or was until its maxHold. */
	final boolean isRenewed() {
		return this.renewedNanos > 0;
	}

	/** Return whether it is to be renewed at a time. */
	final boolean isRenewed(long now) {
		long renewed = this.renewedNanos;
		return renewed > 0 && now - this.openedAt < renewed;
	}

	/**
	 * Return for how long it is renewed in all, in nanoseconds: 0 if it is not. This and
	 * the other terms are constant between {@linkplain OpenLeases#change changes}.
	 */
	final long renewedNanos() {
		return this.renewedNanos;
	}

	/** Return the end of that time. */
	final long renewedUntil() {
		return this.openedAt + this.renewedNanos;
	}

	/** Return its number among the leases of its hold. */
	final long number() {
		return this.number;
	}

	private long ownRenewedNanos() {
		return this.request.renewal() ? this.request.maxHoldNanos() : 0;
	}

	final long leaseMillis() {
		return this.request.leaseMillis();
	}

	/** Return how much is left of its time if nothing lengthens it. */
	final long leftMillis(long now) {
		return this.request.leaseMillis() - TimeUnit.NANOSECONDS.toMillis(now - this.openedAt);
	}

	/** Return the end of its grant had it been granted when it was asked for. */
	final long validIfGranted() {
		return this.openedAt + Hold.validity(this.request.leaseMillis());
	}

	/**
	 * Return whether the thread of the hold may enter by it. A part of several keys is
	 * not to be entered before all of them are there.
	 */
	final boolean isOwn() {
		return this.own && !this.partial;
	}

	/** Return whether code runs under it until its release. */
	final boolean isForCode() {
		return this.request.forCode() && !this.partial;
	}

	@Override
	public final EngineContext context() {
		return this.context;
	}

	@Override
	public final List<Hold> holds() {
		return List.of(this.hold);
	}

	@Override
	public final Resource resource() {
		return this.hold.resource();
	}

	@Override
	public boolean isHeld() {
		return !isReleased() && this.hold.isHeld(this.context.scheduler.nanoTime());
	}

	@Override
	public final boolean isReleased() {
		return this.releaseResult.get() != null;
	}

	@Override
	public Duration remaining() {
		return isHeld() ? Duration.ofNanos(Math.max(0, this.hold.validUntil() - this.context.scheduler.nanoTime()))
				: Duration.ZERO;
	}

	@Override
	public void ensureHeld() {
		if (!isHeld()) {
			throw new LeaseLostException(key(), "The lease of " + this.hold.description() + " is not held any more: it "
					+ (isReleasedOnly() ? "was released" : "was lost, because " + whyNotHeld()));
		}
	}

	/** Return whether it was released, and is not known to have been lost before. */
	private boolean isReleasedOnly() {
		CompletableFuture<ReleaseResult> end = this.releaseResult.get();
		if (end == null) {
			return false;
		}
		// Not by the hold if that can be helped, which others may have open for longer.
		return (end.isDone() && !end.isCompletedExceptionally()) ? BlockingWait.join(end) != ReleaseResult.LOST
				: !this.hold.isLost();
	}

	/** Return why it is not held, in words. */
	final String whyNotHeld() {
		return this.hold.whyNotHeld();
	}

	@Override
	public void onLost(Runnable action) {
		if (!this.hold.onLost(this, action) && !isReleased()) {
			this.context.callOnLoss(action);
		}
	}

	/** Add an action for a loss of the hold. For the hold only, which guards it. */
	final void addLossAction(Runnable action) {
		this.lossActions = this.lossActions.isEmpty() ? new ArrayList<>(1) : this.lossActions;
		this.lossActions.add(action);
	}

	/** Return and forget its actions for a loss. For the hold only. */
	final List<Runnable> takeLossActions() {
		List<Runnable> taken = this.lossActions;
		this.lossActions = List.of();
		return taken;
	}

	@Override
	public void markCallerGone() {
		this.callerGone = true;
		if (this.observation != null) {
			this.observation.callerGone();
		}
	}

	/** Return whether the caller of the code under it has gone. */
	final boolean isCallerGone() {
		return this.callerGone;
	}

	/** Have its release take effect at once, as {@link LockLease#waiveMinHold()} says. */
	public final void waiveMinHold() {
		if (this.hasMinHold) {
			this.hold.waiveMinHold();
		}
	}

	@Override
	public final CompletableFuture<ReleaseResult> startRelease(boolean used, boolean blocking) {
		CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
		if (!this.releaseResult.compareAndSet(null, result)) {
			return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
		}
		execute(blocking, () -> this.hold.queue.releaseLease(this.hold, this, used, result));
		return result;
	}

	@Override
	public final CompletableFuture<?> startUnawaitedRelease(boolean blocking) {
		CompletableFuture<ReleaseResult> answer = new CompletableFuture<>();
		if (!this.releaseResult.compareAndSet(null, answer)) {
			return CompletableFuture.completedFuture(null);
		}
		CompletableFuture<@Nullable Void> goOn = new CompletableFuture<>();
		execute(blocking, () -> {
			try {
				this.hold.queue.releaseLease(this.hold, this, true, answer);
			}
			finally {
				this.hold.queue.releases().letGoOn(answer, goOn);
			}
		});
		return goOn;
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
	public final void tellObservers() {
		RequestObservation observing = this.hold.observation;
		if (observing != null) {
			observing.tellHere();
		}
	}

	/** Release it within an event of its queue, as it reached no user. */
	final void discard() {
		CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
		if (this.releaseResult.compareAndSet(null, result)) {
			this.hold.queue.releaseLease(this.hold, this, false, result);
		}
	}

	@Override
	public String toString() {
		return getClass().getSimpleName() + "Lease[" + this.hold.description() + ", "
				+ (isHeld() ? remaining().toMillis() + " ms left" : "not held") + "]";
	}

	/** The lease of a lock, exclusive or not. */
	private static final class LockHandle extends LeaseHandle implements LockLease, FencedLease {

		private volatile @Nullable String refusal;

		private volatile boolean passed;

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

		@Override
		public String fenceName(String key) {
			return context().fenceName(key);
		}

		@Override
		public void refuse(String key, String why, String message) {
			if (this.refusal == null) {
				this.refusal = message;
			}
			this.hold.queue.renewer().lose(this.hold, why);
		}

		@Override
		public @Nullable String refusal() {
			return this.refusal;
		}

		@Override
		public void passed() {
			this.passed = true;
		}

		@Override
		public boolean hasPassed() {
			return this.passed;
		}

	}

	/** The lease of permits. */
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
