package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * A grant of the store, as its holder sees it: held, then released or lost. One of the
 * seven concepts of the engine.
 *
 * <p>
 * It owns its validity, by the monotonic clock and counted from before the request was
 * sent; the leases that are open on it, of which nested ones share it; and the actions on
 * its loss. The queue of the resource opens, closes and releases it in its events, the
 * {@link LeaseRenewer} extends it and finds it lost. Its questions are thread-safe.
 */
final class Hold {

	/** All commands that named the token are answered. */
	static final long NO_DOUBT = -1;

	final ResourceQueue queue;

	final String token;

	final long fence;

	/** Whose thread asked, for re-entry; {@code null} for asynchronous requests. */
	final @Nullable Thread thread;

	final ResolvedRequest request;

	/** Observes the request that it was granted to, or {@code null}. */
	final @Nullable RequestObservation observation;

	/**
	 * Since which reconnect a command that named the token may run late, or
	 * {@link #NO_DOUBT}.
	 */
	final long doubtSince;

	final OpenLeases leases = new OpenLeases();

	/** When the store made the grant. */
	final long grantedByStoreAt;

	/** Number of hand-overs since then, from hold to hold within this instance. */
	final int handOvers;

	/** Number of leases that were opened on it. Confined to the queue. */
	long opened;

	/** Whether a lease on it reached its user. Changed by the queue only. */
	private volatile boolean used;

	/** Whether a shut-down has ended it, so that its user's release sends nothing. */
	private volatile boolean endedByShutDown;

	/** Number of extensions by hand beyond the lease time that have no answer. */
	private volatile int extensions;

	/** When it was granted or, of several together, when the last of them was. */
	private volatile long grantedAt;

	/**
	 * Whether other keys of its request are still waited for. Until then it is renewed,
	 * also without renewal in its terms.
	 */
	private volatile boolean partial;

	/** Whether its work has failed, and others are not to be kept out. */
	private volatile boolean minHoldWaived;

	private volatile boolean released;

	/** Until when the store keeps it for sure. */
	private volatile long grantedUntil;

	/** How long before that it counts as lost. Only grows, by nested leases. */
	private volatile long lossMargin;

	/** The longest loss margin of its leases. Guarded by this. */
	private long wantedMargin;

	/** When it is to be renewed. */
	private volatile long renewAt;

	/** Whether its next renewal also covers its leases without renewal. */
	private volatile boolean claimed;

	/** Whether a renewal was sent that has no answer yet. */
	private volatile boolean renewalUnanswered;

	/** Reason why the last renewal failed; {@code null} if it did not. */
	private volatile @Nullable String renewalTrouble;

	/** Why it was lost, in words; {@code null} if it is not known to be. */
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
		this(requester, token, granted.fence(), doubtSince, now, now, 0);
		this.grantedUntil = sentAt + validity(granted.ttlMillis());
		this.claimed = granted.ttlMillis() < this.request.leaseMillis();
		// Spread: holds granted together would be renewed together each time.
		long third = sentAt + (TimeUnit.MILLISECONDS.toNanos(granted.ttlMillis()) - this.lossMargin) / 3;
		this.renewAt = now + this.queue.context().shortenRandomly(third - now);
	}

	/** Continue a hold that was released here, without telling the store. */
	Hold(Waiter requester, Hold before, long now) {
		// Fences of permits have no stride, and reach no user.
		this(requester, before.token, (before.resource().kind() == Kind.SEMAPHORE) ? before.fence : before.fence + 1,
				before.doubtSince, now, before.grantedByStoreAt, before.handOvers + 1);
		this.grantedUntil = before.grantedUntil;
		this.claimed = before.claimed;
		this.renewAt = before.renewAt;
	}

	private Hold(Waiter requester, String token, long fence, long doubtSince, long now, long grantedByStoreAt,
			int handOvers) {
		this.queue = requester.queue;
		this.token = token;
		this.fence = fence;
		this.thread = requester.thread;
		this.request = requester.request;
		this.observation = requester.observation;
		this.lossMargin = this.request.lossMarginNanos();
		this.partial = requester.part;
		this.doubtSince = doubtSince;
		this.grantedAt = now;
		this.grantedByStoreAt = grantedByStoreAt;
		this.handOvers = handOvers;
	}

	/**
	 * Return how long the store keeps a lease for sure: less 1 % + 2 ms, for clocks that
	 * run at different speeds and are read in milliseconds.
	 */
	static long validity(long ttlMillis) {
		return TimeUnit.MILLISECONDS.toNanos(ttlMillis) * 99 / 100 - TimeUnit.MILLISECONDS.toNanos(2);
	}

	// Its grant

	/** Return the resource of the grant. */
	Resource resource() {
		return this.request.resource();
	}

	/** Return the number of permits. */
	int permits() {
		return this.request.permits();
	}

	/** Return when it was granted or, of several together, when the last of them was. */
	long grantedAt() {
		return this.grantedAt;
	}

	/** Return how long it was held, by the time when that is asked. */
	Duration heldFor(long now) {
		return Duration.ofNanos(Math.min(0, validUntil() - now) + now - this.grantedAt);
	}

	/** Note that no other keys are waited for any more: the time of its user begins. */
	void endWaitForOthers(long now) {
		if (this.partial) {
			this.grantedAt = now;
			this.partial = false;
		}
	}

	/** Return whether other parts are still waited for. */
	boolean isPartial() {
		return this.partial;
	}

	/** Return a description of the grant, for messages. */
	String description() {
		return (resource().kind() == Kind.SEMAPHORE)
				? ((permits() == 1) ? "a permit" : permits() + " permits") + " of " + resource()
				: resource() + " (fence " + this.fence + ")";
	}

	/** Return its purpose, as a part of messages: an annotated method has a name. */
	String purpose() {
		return (this.request.name() != null) ? ", for " + SingleLine.of(this.request.name()) + "," : "";
	}

	/**
	 * Return its token and terms for the store, with its longest lease: that may have
	 * been renewed by hand for longer than its lease time.
	 */
	AcquireCommand toCommand(long now) {
		long millis = Math.max(this.request.leaseMillis(),
				TimeUnit.NANOSECONDS.toMillis(this.grantedUntil - now) * 100 / 98);
		return new AcquireCommand(this.token, permits(), this.request.limit(), this.request.fair(), millis,
				this.request.claimMillis());
	}

	// Its leases

	/** Return whether any of its leases is to be renewed, or was until its maxHold. */
	boolean isRenewed() {
		return this.leases.isRenewed();
	}

	/**
	 * Open a lease on it, which reaches its user later. If the grant is shorter than this
	 * lease is to last, or has less time left than its loss margin, the hold is renewed
	 * at once.
	 */
	synchronized void open(LeaseHandle lease, long now) {
		boolean longer = this.leases.count() > 0 && lease.leaseMillis() > this.leases.longestRenewed(now)
				&& this.grantedUntil - lease.validIfGranted() < 0;
		this.leases.add(lease);
		long margin = lease.request.lossMarginNanos();
		boolean narrow = margin > this.lossMargin && !widenMargin(margin, now);
		if (longer || narrow) {
			renewInFull(!lease.isRenewed(), now);
		}
	}

	/**
	 * Close a lease. The time for other ones may have been renewed by its terms only.
	 */
	synchronized void close(LeaseHandle lease, boolean used, long now) {
		this.leases.remove(lease);
		this.used |= used;
		if (this.leases.count() > 0 && this.leases.isAnyCutShort(this.grantedUntil, now)) {
			renewInFull(true, now);
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

	/** Return whether a lease on it reached its user. */
	boolean isUsed() {
		return this.used;
	}

	/** Return whether code runs under one of its leases. */
	boolean isForCode() {
		return this.leases.isAnyForCode();
	}

	// Its validity

	/** Return whether it may be relied on at a time. */
	boolean isHeld(long now) {
		return !hasEnded() && validUntil() - now > 0;
	}

	/** Return until when it may be relied on. */
	long validUntil() {
		return this.grantedUntil - this.lossMargin;
	}

	/** Return until when the store keeps it for sure. */
	long grantedUntil() {
		return this.grantedUntil;
	}

	/** Return how long it is kept in the store after the end of its validity. */
	long lossMargin() {
		return this.lossMargin;
	}

	/**
	 * Have the loss margin of a nested lease, if it is the longer one. Not yet if there
	 * is less than twice that time left, or a renewal might come too late.
	 * @return {@code false} if it is to be had from the next renewal on
	 */
	private synchronized boolean widenMargin(long margin, long now) {
		this.wantedMargin = Math.max(this.wantedMargin, margin);
		if (margin > this.lossMargin && this.grantedUntil - now >= 2 * margin) {
			this.lossMargin = margin;
		}
		return margin <= this.lossMargin;
	}

	/**
	 * Note that the store lengthened the lease. Validity only grows, and an end is final:
	 * a user may have seen it.
	 * @return whether the lease is still held
	 */
	synchronized boolean extend(long until, long now) {
		if (!isHeld(now)) {
			return false;
		}
		if (until - this.grantedUntil > 0) {
			this.grantedUntil = until;
		}
		widenMargin(this.wantedMargin, now);
		return true;
	}

	/**
	 * Return whether its time is over as that of a lease without renewal may be meant to
	 * be, even if a loss had ended it before.
	 */
	boolean hasRunOut(long now) {
		return !isRenewed() && validUntil() - now <= 0;
	}

	/**
	 * Return how long it is to keep others out without renewals, in nanoseconds: for a
	 * whole lease time if it is a claim, and until its minHold is over.
	 */
	long lastsNanos(long now) {
		long claimed = this.claimed ? TimeUnit.MILLISECONDS.toNanos(renewalMillis(now)) : 0;
		return Math.max(Math.max(claimed, minHoldLeft(now)), this.grantedUntil - now);
	}

	/** Have its release take effect at once. */
	void waiveMinHold() {
		this.minHoldWaived = true;
	}

	/**
	 * Have a minHold again, as its work is repeated.
	 * @return whether it had been waived
	 */
	boolean restoreMinHold() {
		boolean waived = this.minHoldWaived;
		this.minHoldWaived = false;
		return waived;
	}

	/**
	 * Return how much of its minHold is left, in nanoseconds: negative if it is over, 0
	 * if it was waived, or other parts are still waited for.
	 */
	long minHoldLeft(long now) {
		return (this.partial || this.minHoldWaived) ? 0 : this.grantedAt + this.request.minHoldNanos() - now;
	}

	/**
	 * Return whether the next waiter of this instance may go on with it without the
	 * store: the limits of a turn leave a fencing token and time, and it lasts for long
	 * enough. Nor for longer than its lease time, as after a renewal by hand: others
	 * would wait that long if the next holder died.
	 */
	boolean mayBeHandedOver(HandOverLimits limits, long now) {
		long left = TimeUnit.NANOSECONDS.toMillis(this.grantedUntil - now);
		long margin = TimeUnit.NANOSECONDS.toMillis(this.request.lossMarginNanos());
		return this.handOvers < limits.maxCount() && now - this.grantedByStoreAt < limits.maxTime().toNanos()
				&& this.request.renewal() && this.renewalTrouble == null && this.extensions == 0
				&& left > (this.request.claimMillis() + margin) / 2 && left <= this.request.leaseMillis();
	}

	// Its renewal

	/** Return how long it is to be renewed for at a time, 0 if it is not (any more). */
	long renewalMillis(long now) {
		long renewed = longestRenewed(now);
		return this.claimed ? Math.max(renewed, this.leases.longestLeft(now)) : renewed;
	}

	/** Return the lease time that the rate of renewals depends on. */
	long periodMillis(long now) {
		long longest = longestRenewed(now);
		return (longest > 0) ? longest : this.request.leaseMillis();
	}

	/** Return the longest lease time, but at least three loss margins; 0 without any. */
	private long longestRenewed(long now) {
		long longest = this.leases.longestRenewed(now);
		return (longest > 0) ? Math.max(longest, TimeUnit.NANOSECONDS.toMillis(3 * this.lossMargin)) : 0;
	}

	/** Return when it is to be renewed, or is over if it is not. */
	long dueAt(long now) {
		return (renewalMillis(now) > 0) ? renewAtOrBeforeEnd() : validUntil();
	}

	/** Return the renewal that lengthens it. */
	Renewal renewalCommand(long millis) {
		return new Renewal(resource(), this.token, permits(), millis);
	}

	/** Return when it is to be renewed, on the monotonic clock. */
	long renewAt() {
		return this.renewAt;
	}

	/** Return when it is to be renewed, or its end if that comes first. */
	long renewAtOrBeforeEnd() {
		return ResourceQueue.earlier(this.renewAt, validUntil());
	}

	/** Renew it at a time, on the monotonic clock. */
	void renewAt(long at) {
		this.renewAt = at;
	}

	/**
	 * Renew it at once, for the longest of its leases.
	 * @param claimed whether one of them is not to be renewed after that
	 */
	private void renewInFull(boolean claimed, long now) {
		this.claimed |= claimed;
		this.renewAt = now;
	}

	/**
	 * Note that a renewal is sent.
	 * @return whether the one before was not answered, and so has failed
	 */
	boolean onRenewalSent() {
		boolean silent = this.renewalUnanswered;
		this.renewalUnanswered = true;
		if (silent) {
			this.renewalTrouble = "the store (Redis) does not answer";
		}
		return silent;
	}

	/** Note that a renewal was answered. */
	void onRenewalAnswered() {
		this.renewalUnanswered = false;
		// Not written without need: a volatile write costs more than the look before it.
		if (this.renewalTrouble != null) {
			this.renewalTrouble = null;
		}
	}

	/** Note that a renewal failed. */
	void onRenewalFailed(String trouble) {
		this.renewalUnanswered = false;
		this.renewalTrouble = trouble;
	}

	/**
	 * Note that the store lengthened it. Only a renewal for the longest of its leases
	 * puts the next one off; not a shorter one by hand, nor one from before the opening
	 * of a longer lease.
	 */
	synchronized void onRenewed(long millis, long sentAt, long nextAt) {
		if (millis >= renewalMillis(sentAt)) {
			this.claimed = false;
			this.renewAt = nextAt;
		}
	}

	/** Return whether the last renewal failed, or was not answered before the next. */
	boolean isRenewalFailing() {
		return this.renewalTrouble != null;
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

	// Its end

	/** Return whether it was released or lost. */
	boolean hasEnded() {
		return this.released || isLost();
	}

	/**
	 * End by release, or by loss if validity is over.
	 * @return whether it was held until now
	 */
	synchronized boolean markReleased(long now) {
		if (!isHeld(now)) {
			return false;
		}
		this.released = true;
		return true;
	}

	/**
	 * End by loss.
	 * @param why in words
	 * @return the actions of users to run, or {@code null} if it had ended before
	 */
	synchronized @Nullable List<Runnable> lose(String why) {
		return hasEnded() ? null : markLost(why);
	}

	/**
	 * End by loss, also if it was released: the store did not have it any more.
	 * @param why in words
	 * @return the actions of users to run
	 */
	synchronized List<Runnable> markLost(String why) {
		this.loss = why;
		return this.leases.takeLossActions();
	}

	/**
	 * Return why its validity has ended, in words.
	 */
	String whyExpired() {
		if (!isRenewed()) {
			return "its lease time was over";
		}
		// Not of now: it may be noticed late.
		if (!this.leases.isAnyRenewed(validUntil())) {
			return "it was held for longer than its maxHold";
		}
		String trouble = this.renewalTrouble;
		return "it was not renewed in time" + ((trouble != null) ? ", as its last renewal failed: " + trouble : "");
	}

	/**
	 * Return why it is not held although it was not released, in words. It may be over
	 * before anything has noticed that.
	 */
	String whyNotHeld() {
		String known = this.loss;
		return (known != null) ? known : whyExpired();
	}

	/** Return whether it is known that the store does not have it any more. */
	boolean isLost() {
		return this.loss != null;
	}

	/**
	 * Note an action to run on loss, unless the lease is released before.
	 * @return {@code false} if it is lost already, so that the caller has to run it
	 */
	synchronized boolean onLost(LeaseHandle lease, Runnable action) {
		if (isLost()) {
			return false;
		}
		if (!this.released && !lease.isReleased()) {
			lease.addLossAction(action);
		}
		return true;
	}

	/** Tell the observers of its end. */
	void tellEnded(HoldEnd end) {
		RequestObservation observing = this.observation;
		if (observing != null) {
			observing.ended(end);
		}
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

	/** Note that a shut-down has lost it, and has seen to its end in the store. */
	void endByShutDown() {
		this.endedByShutDown = true;
	}

	/** Return whether a shut-down has lost it, and no release is to be sent. */
	boolean isEndedByShutDown() {
		return this.endedByShutDown;
	}

}
