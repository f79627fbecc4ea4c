package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * A grant of the store, as its holder sees it: held, then released or lost. One of the
 * seven concepts of the engine.
 *
 * <p>
 * It owns its validity, by the monotonic clock and counted from before the request was
 * sent; the leases that are open on it, of which nested ones share it; and what is to run
 * on its loss. The queue of the resource opens, closes and releases it in its events, the
 * {@link LeaseRenewer} extends it and finds it lost. What others ask of it is
 * thread-safe.
 */
final class Hold extends TokenGrant {

	final ResourceQueue queue;

	final OpenLeases leases = new OpenLeases();

	final RenewalState renewal;

	/** Number of leases that were opened on it. Confined to the queue. */
	long opened;

	/** Whether a lease on it reached its user. Changed by the queue only. */
	private volatile boolean used;

	/** Whether a shut-down has ended it, so that its user's release sends nothing. */
	private volatile boolean endedByShutDown;

	/** Number of extensions by hand beyond the lease time that have no answer. */
	private volatile int extensions;

	private volatile HoldState state = HoldState.HELD;

	private volatile long validUntil;

	private final LossActions lossActions = new LossActions();

	/** Why it was lost, in words. */
	private volatile @Nullable String loss;

	private boolean lossReported;

	/**
	 * Create a hold that the store has granted.
	 * @param requester the request that it is granted to
	 * @param token by which the store knows it
	 * @param doubtSince since which reconnect a command that named the token may run
	 * late, or {@link #NO_DOUBT}
	 * @param granted the store's answer
	 * @param sentAt when the command was sent
	 * @param now the time
	 */
	Hold(Waiter requester, String token, long doubtSince, Granted granted, long sentAt, long now) {
		super(token, granted.fence(), requester, doubtSince, new HandOverHistory(now, 0), now);
		this.queue = requester.queue;
		this.validUntil = sentAt + validity(granted.ttlMillis());
		// Spread: holds granted together would be renewed together each time.
		long third = sentAt + TimeUnit.MILLISECONDS.toNanos(granted.ttlMillis()) / 3;
		this.renewal = new RenewalState(granted.ttlMillis() < this.request.leaseMillis(),
				now + this.queue.context().shortenRandomly(third - now));
	}

	/** Go on with what another one has released here, and the store knows nothing of. */
	Hold(Waiter requester, Hold before, long now) {
		// Fences of permits have no stride, and reach no user.
		super(before.token, (before.resource().kind() == Kind.SEMAPHORE) ? before.fence : before.fence + 1, requester,
				before.doubtSince, before.history.plusOne(), now);
		this.queue = requester.queue;
		this.validUntil = before.validUntil;
		this.renewal = new RenewalState(before.renewal.isClaimed(), before.renewal.at());
	}

	/** Return whether it may be relied on at a time. */
	boolean isHeld(long now) {
		return this.state == HoldState.HELD && this.validUntil - now > 0;
	}

	/** Return whether any of its leases is to be renewed, or was until its maxHold. */
	boolean isRenewed() {
		return this.leases.isRenewed();
	}

	/**
	 * Open a lease on it, which reaches its user later. What was granted for less than
	 * this one is to last is renewed at once.
	 */
	void open(LeaseTerms lease, long now) {
		boolean longer = this.leases.count() > 0 && lease.leaseMillis() > this.leases.longestRenewed(now)
				&& this.validUntil - lease.validIfGranted() < 0;
		this.leases.add(lease);
		if (longer) {
			this.renewal.scheduleInFull(!lease.isRenewed(), now);
		}
	}

	/**
	 * Close a lease. What others are left for may have been renewed by its terms only.
	 */
	void close(LeaseTerms lease, boolean used, long now) {
		this.leases.remove(lease);
		this.used |= used;
		if (this.leases.count() == 0) {
			return;
		}
		this.lossActions.forget(lease);
		if (this.leases.isAnyCutShort(this.validUntil, now)) {
			this.renewal.scheduleInFull(true, now);
		}
	}

	/** Return whether a thread has a lease of its own on it, for re-entry. */
	boolean isOf(@Nullable Thread thread) {
		return thread != null && this.thread == thread && this.leases.isAnyOwn();
	}

	/**
	 * Return whether its thread, which still counts on it, must be told of its loss when
	 * it asks for the key again. Not if it was to end by itself: perhaps no release comes
	 * then.
	 */
	boolean mustTellThread() {
		return this.leases.isAnyOwn() && isRenewed();
	}

	/**
	 * Return whether its time is over as a lease's without renewal may be meant to be,
	 * whatever had ended it before.
	 */
	boolean hasRunOut(long now) {
		return !isRenewed() && this.validUntil - now <= 0;
	}

	/**
	 * Return why its validity has ended, in words.
	 */
	String whyExpired(long now) {
		if (!isRenewed()) {
			return "its lease time was over";
		}
		return (this.leases.longestRenewed(now) > 0) ? "it was not renewed in time"
				: "it was held for longer than its maxHold";
	}

	/**
	 * Return why it is not held although it was not released, in words. It may be over
	 * before anything has noticed that.
	 */
	String whyNotHeld(long now) {
		String known = this.loss;
		return (known != null) ? known : whyExpired(now);
	}

	/** Return whether it is known that the store does not have it any more. */
	boolean isLost() {
		return this.loss != null;
	}

	long validUntil() {
		return this.validUntil;
	}

	/** Return how long it is to be renewed for at a time, 0 if it is not (any more). */
	long renewalMillis(long now) {
		long renewed = this.leases.longestRenewed(now);
		return this.renewal.isClaimed() ? Math.max(renewed, this.leases.longestLeft(now)) : renewed;
	}

	/** Return the lease time that the rate of renewals depends on. */
	long periodMillis(long now) {
		long longest = this.leases.longestRenewed(now);
		return (longest > 0) ? longest : this.request.leaseMillis();
	}

	/** Return when it is to be renewed, or is over if it is not. */
	long dueAt(long now) {
		long end = this.validUntil;
		return (renewalMillis(now) > 0) ? this.renewal.atOrBefore(end) : end;
	}

	/** Return whether a lease on it reached its user. */
	boolean isUsed() {
		return this.used;
	}

	/** Return whether code runs under one of its leases. */
	boolean isForCode() {
		return this.leases.isAnyForCode();
	}

	/**
	 * Return how long it is to keep others out without renewals, in nanoseconds: for a
	 * whole lease time if it is a claim, and until its minHold is over.
	 */
	long lastsNanos(long now) {
		long claimed = this.renewal.isClaimed() ? TimeUnit.MILLISECONDS.toNanos(renewalMillis(now)) : 0;
		return Math.max(Math.max(claimed, minHoldLeft(now)), this.validUntil - now);
	}

	/** Note that a shut-down has lost it, and has seen to its end in the store. */
	void endByShutDown() {
		this.endedByShutDown = true;
	}

	/** Return whether a shut-down has lost it, and no release is to be sent. */
	boolean isEndedByShutDown() {
		return this.endedByShutDown;
	}

	/** Return whether it was released or lost. */
	boolean hasEnded() {
		return this.state != HoldState.HELD;
	}

	/**
	 * Note that an extension by hand is about to be sent. Until one beyond the lease time
	 * is answered, the next holder would get a token that lasts for so long.
	 * @return whether the lease is held, so that the extension may be sent
	 */
	synchronized boolean beginExtension(long millis, long now) {
		boolean held = isHeld(now);
		if (held && millis > this.request.leaseMillis()) {
			this.extensions++;
		}
		return held;
	}

	/** Note that an extension by hand is answered. */
	synchronized void endExtension(long millis) {
		if (millis > this.request.leaseMillis()) {
			this.extensions--;
		}
	}

	/**
	 * Return whether the next waiter of this instance may go on with it without the
	 * store: the limits of a turn leave a fencing token and time, and it lasts for long
	 * enough. Nor for longer than its lease time, as after a renewal by hand: others
	 * would wait that long if the next holder died.
	 */
	boolean mayBeHandedOver(HandOverLimits limits, long now) {
		long left = TimeUnit.NANOSECONDS.toMillis(validUntil() - now);
		return this.history.handOvers() < limits.maxCount()
				&& now - this.history.grantedByStoreAt() < limits.maxTime().toNanos() && this.request.renewal()
				&& !this.renewal.isFailing() && this.extensions == 0 && left > this.request.claimMillis() / 2
				&& left <= this.request.leaseMillis();
	}

	/**
	 * Note that the store lengthened the lease. Validity only grows, and what has ended
	 * stays so: a user may have seen it.
	 * @return whether the lease is still held
	 */
	synchronized boolean extend(long until, long now) {
		if (!isHeld(now)) {
			return false;
		}
		if (until - this.validUntil > 0) {
			this.validUntil = until;
		}
		return true;
	}

	/**
	 * End by release, or by loss if validity is over.
	 * @return whether it was held until now
	 */
	synchronized boolean markReleased(long now) {
		if (!isHeld(now)) {
			return false;
		}
		this.state = HoldState.RELEASED;
		return true;
	}

	/**
	 * End by loss.
	 * @param why in words
	 * @return what is to run because of that, or {@code null} if it had ended before
	 */
	synchronized @Nullable List<Runnable> lose(String why) {
		if (this.state != HoldState.HELD) {
			return null;
		}
		return markLost(why);
	}

	/**
	 * End by loss, also if it was released: the store did not have it any more.
	 * @param why in words
	 * @return what is to run because of that
	 */
	synchronized List<Runnable> markLost(String why) {
		this.loss = why;
		this.state = HoldState.LOST;
		return this.lossActions.take();
	}

	/** Tell the observers of its end. */
	void tellEnded(HoldEnd end) {
		RequestObservation observing = this.observation;
		if (observing != null) {
			observing.ended(end);
		}
	}

	/**
	 * Note what is to run on loss, unless the lease is released before.
	 * @return {@code false} if it is lost already, so that the caller has to run it
	 */
	synchronized boolean onLost(LeaseTerms lease, Runnable action) {
		if (this.state == HoldState.LOST) {
			return false;
		}
		if (this.state == HoldState.HELD && !lease.isReleased()) {
			this.lossActions.add(lease, action);
		}
		return true;
	}

	/**
	 * Note that its loss is reported.
	 * @return whether it was not before
	 */
	synchronized boolean markLossReported() {
		boolean first = !this.lossReported;
		this.lossReported = true;
		return first;
	}

	private enum HoldState {

		HELD, RELEASED, LOST

	}

}
