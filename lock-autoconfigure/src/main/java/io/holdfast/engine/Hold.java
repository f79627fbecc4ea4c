package io.holdfast.engine;

import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
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
 * A grant of the store from the holder's view: held, then released or lost. One of the
 * seven concepts of the engine.
 *
 * <p>
 * A hold owns its validity, the open leases on it, and the actions on its loss. Validity
 * is measured by the monotonic clock, from before the request was sent. A lease and the
 * leases nested in it are open on the same hold. Only the resource's queue opens and
 * closes leases and releases the hold, in its events. The {@link LeaseRenewer} extends
 * the hold and detects its loss. Queries are thread-safe.
 */
final class Hold {

	/** Value of {@link #doubtSince} if all commands with the token are answered. */
	static final long NO_DOUBT = -1;

	final ResourceQueue queue;

	final String token;

	final long fence;

	/** Thread of the request, for re-entry. {@code null} for asynchronous requests. */
	final @Nullable Thread thread;

	final ResolvedRequest request;

	/** Observation of the granted request, or {@code null}. */
	final @Nullable RequestObservation observation;

	/**
	 * The store's number of reconnects before the first command with the token, if a
	 * command may still run late; otherwise {@link #NO_DOUBT}.
	 */
	final long doubtSince;

	/** Lease of the request. Further leases are nested. */
	final LeaseHandle first;

	/** Time of the grant by the store. Local hand-overs do not change it. */
	final long grantedByStoreAt;

	/** Number of local hand-overs since the grant by the store. */
	final int handOvers;

	/**
	 * Open leases in the order of their opening. The last lease stays after its release,
	 * because its terms still apply. Changed by the queue only. Guarded by this.
	 */
	final Set<LeaseHandle> leases = new LinkedHashSet<>(2);

	/** Number of the leases with renewal. Guarded by this. */
	private int renewed;

	/**
	 * Lease with the longest lease time of the renewed leases, or {@code null} if not
	 * known. Searched only when needed: a transaction may keep the leases of thousands of
	 * calls. Guarded by this.
	 */
	private @Nullable LeaseHandle longest;

	/**
	 * Lease that ends last of the leases without renewal, or {@code null} if not known.
	 * Guarded by this.
	 */
	private @Nullable LeaseHandle lastToEnd;

	/** Whether a lease has reached its user. Changed by the queue only. */
	volatile boolean used;

	/**
	 * Whether a shutdown has ended this hold. The user's release then sends no command.
	 */
	volatile boolean endedByShutDown;

	/** Whether the minHold does not apply, because the work has failed. */
	private volatile boolean minHoldWaived;

	private volatile boolean released;

	/** Time until which the store certainly keeps the lease. */
	private volatile long grantedUntil;

	/** Time until which the store may keep the lease, because of unanswered renewals. */
	private volatile long mayLastUntil;

	/**
	 * Time before {@link #grantedUntil} at which the hold counts as lost, in nanoseconds.
	 * Nested leases may increase it; it never decreases.
	 */
	private volatile long lossMargin;

	/** Longest loss margin of the leases, in nanoseconds. Guarded by this. */
	private long wantedMargin;

	/** Time of the next renewal, by the monotonic clock. */
	volatile long renewAt;

	/** Whether the next renewal must also cover the leases without renewal. */
	private volatile boolean claimed;

	/** Whether a renewal is unanswered. */
	private volatile boolean renewalUnanswered;

	/** Reason of the last renewal's failure, or {@code null} if it did not fail. */
	private volatile @Nullable String renewalTrouble;

	/**
	 * Reason of the loss, for messages. {@code null} unless the hold is known to be lost.
	 */
	private volatile @Nullable String loss;

	private boolean lossReported;

	/**
	 * Create a hold for a grant of the store.
	 * @param requester the waiter that gets the grant
	 * @param token the token of the grant
	 * @param doubtSince the value of {@link #doubtSince}
	 * @param granted the store's answer
	 * @param sentAt the time before the command was sent
	 * @param now the current time
	 */
	Hold(Waiter requester, String token, long doubtSince, Granted granted, long sentAt, long now) {
		this(requester, token, granted.fence(), doubtSince, now, now, 0);
		this.grantedUntil = sentAt + validity(granted.ttlMillis());
		this.mayLastUntil = this.grantedUntil;
		this.claimed = granted.ttlMillis() < this.request.leaseMillis();
		// Random: holds that are granted together should not be renewed together each
		// time.
		long third = sentAt + (TimeUnit.MILLISECONDS.toNanos(granted.ttlMillis()) - this.lossMargin) / 3;
		this.renewAt = now + this.queue.context.shortenRandomly(third - now);
	}

	/**
	 * Create the hold of the next waiter after a local hand-over, without a command to
	 * the store.
	 */
	Hold(Waiter requester, Hold before, long now) {
		// Only fences of locks leave numbers for local hand-overs. Fences of permits
		// reach no user.
		this(requester, before.token, (before.resource().kind() == Kind.SEMAPHORE) ? before.fence : before.fence + 1,
				before.doubtSince, now, before.grantedByStoreAt, before.handOvers + 1);
		this.grantedUntil = before.grantedUntil;
		this.mayLastUntil = before.mayLastUntil;
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
		this.doubtSince = doubtSince;
		this.grantedByStoreAt = grantedByStoreAt;
		this.handOvers = handOvers;
		this.first = LeaseHandle.of(this, requester, now);
		add(this.first);
	}

	/**
	 * Return the time for which the store certainly keeps a lease, in nanoseconds.
	 * Subtracts 1 % for clocks of different speed, and 2 ms because Redis counts whole
	 * milliseconds.
	 */
	static long validity(long ttlMillis) {
		return TimeUnit.MILLISECONDS.toNanos(ttlMillis) * 99 / 100 - TimeUnit.MILLISECONDS.toNanos(2);
	}

	// Grant

	/** Return the resource of the grant. */
	Resource resource() {
		return this.request.resource();
	}

	/** Return the number of permits. */
	int permits() {
		return this.request.permits();
	}

	/**
	 * Return the time of the grant or, for a request for several keys, of the last key's
	 * grant.
	 */
	long grantedAt() {
		return this.first.openedAt();
	}

	/**
	 * Return the time for which the lease was held until now, or until the end of its
	 * validity.
	 */
	Duration heldFor(long now) {
		return Duration.ofNanos(Math.min(0, validUntil() - now) + now - grantedAt());
	}

	/** Return whether other keys of the request are still waited for. */
	boolean isAwaitingOtherKeys() {
		return this.first.isAwaitingOtherKeys();
	}

	/** Return a description of the grant, for messages. */
	String description() {
		return (resource().kind() == Kind.SEMAPHORE)
				? ((permits() == 1) ? "a permit" : permits() + " permits") + " of " + resource()
				: resource() + " (fencing token " + this.fence + ")";
	}

	/**
	 * Return the name of the request as a part of messages, or an empty text if there is
	 * none.
	 */
	String purpose() {
		return (this.request.name() != null) ? ", for " + SingleLine.of(this.request.name()) + "," : "";
	}

	/**
	 * Return the token and terms of this hold for the store. The lease time covers the
	 * remaining grant, which a nested lease or an extension by the user may have made
	 * longer than the request's lease time.
	 */
	AcquireCommand toCommand(long now) {
		long millis = Math.max(this.request.leaseMillis(),
				TimeUnit.NANOSECONDS.toMillis(this.mayLastUntil - now) * 100 / 98);
		return new AcquireCommand(this.token, permits(), this.request.limit(), this.request.fair(), millis,
				this.request.claimMillis());
	}

	// Leases

	/**
	 * Open a nested lease on this hold. Renews the hold at once if the grant ends before
	 * the new lease should end, or if it is too short for the new lease's loss margin.
	 */
	synchronized LeaseHandle nest(Waiter requester, long now) {
		LeaseHandle lease = LeaseHandle.of(this, requester, now);
		boolean longer = this.grantedUntil - lease.validIfGranted() < 0 && lease.leaseMillis() > longestLease(now);
		add(lease);
		long margin = lease.request.lossMarginNanos();
		boolean narrow = margin > this.lossMargin && !widenMargin(margin, now);
		if (longer || narrow) {
			renewInFull(!lease.isRenewed(), now);
		}
		this.queue.renewer().wakeBy(dueAt(now));
		return lease;
	}

	/**
	 * Close a lease. Renews the hold at once if a lease without renewal relied on the
	 * renewals of the closed lease.
	 * @return whether it was the last lease
	 */
	synchronized boolean close(LeaseHandle lease, boolean used, long now) {
		this.used |= used;
		if (this.leases.size() == 1) {
			return true;
		}
		boolean mayBeLongest = lease.isRenewed()
				&& (this.longest == null || lease == this.longest || !this.longest.isRenewed(now));
		remove(lease);
		LeaseHandle last = mayBeLongest ? lastToEnd() : null;
		if (last != null && this.grantedUntil - last.validIfGranted() < 0 && last.leaseMillis() > longestLease(now)) {
			renewInFull(true, now);
			this.queue.renewer().wakeBy(now);
		}
		return false;
	}

	/** Note that all keys of a lease's request are granted: the user's time begins. */
	synchronized void endWaitForOthers(LeaseHandle lease, long now) {
		boolean open = remove(lease);
		lease.endWaitForOthers(now);
		if (open) {
			add(lease);
		}
	}

	private void add(LeaseHandle lease) {
		this.leases.add(lease);
		if (lease.isRenewed()) {
			this.renewed++;
			if (this.longest != null && lease.leaseMillis() > this.longest.leaseMillis()) {
				this.longest = lease;
			}
		}
		else if (this.lastToEnd != null && lease.validIfGranted() - this.lastToEnd.validIfGranted() > 0) {
			this.lastToEnd = lease;
		}
	}

	private boolean remove(LeaseHandle lease) {
		boolean open = this.leases.remove(lease);
		if (open && lease.isRenewed()) {
			this.renewed--;
		}
		if (lease == this.longest) {
			this.longest = null;
		}
		if (lease == this.lastToEnd) {
			this.lastToEnd = null;
		}
		return open;
	}

	/**
	 * Return the longest lease time of the leases that are renewed at a time, in
	 * milliseconds. 0 without such leases.
	 */
	private synchronized long longestLease(long now) {
		if (this.renewed > 0 && (this.longest == null || !this.longest.isRenewed(now))) {
			this.longest = this.leases.stream()
				.filter((lease) -> lease.isRenewed(now))
				.max(Comparator.comparingLong(LeaseHandle::leaseMillis))
				.orElse(null);
		}
		return (this.longest != null) ? this.longest.leaseMillis() : 0;
	}

	/** Return the lease that ends last of the leases without renewal, or {@code null}. */
	private @Nullable LeaseHandle lastToEnd() {
		if (this.lastToEnd == null && this.leases.size() > this.renewed) {
			this.lastToEnd = this.leases.stream()
				.filter((lease) -> !lease.isRenewed())
				.reduce((left, right) -> (right.validIfGranted() - left.validIfGranted() > 0) ? right : left)
				.orElse(null);
		}
		return this.lastToEnd;
	}

	/** Return whether any lease has renewal, even if its maxHold is over. */
	synchronized boolean isRenewed() {
		return this.renewed > 0;
	}

	/** Return whether a thread has an open lease on this hold, for re-entry. */
	synchronized boolean isReentrantFor(@Nullable Thread thread) {
		return thread != null && this.thread == thread && this.leases.stream().anyMatch(LeaseHandle::allowsReentry);
	}

	/**
	 * Return whether the hold's thread must get an exception for the loss when it
	 * requests the key again. Not for a lease without renewal, which may end by itself
	 * without a release, nor if the thread has ended.
	 */
	boolean mustTellThread() {
		Thread holder = this.thread;
		return holder != null && holder.getState() != Thread.State.TERMINATED && isReentrantFor(holder) && isRenewed();
	}

	/** Return whether code runs under an open lease. */
	synchronized boolean isForCode() {
		return this.leases.stream().anyMatch(LeaseHandle::isForCode);
	}

	/** Return whether the callers of all open leases have gone. */
	synchronized boolean isCallerGone() {
		return this.leases.stream().allMatch(LeaseHandle::isCallerGone);
	}

	// Validity

	/** Return whether the lease is held at a time. */
	boolean isHeld(long now) {
		return !hasEnded() && validUntil() - now > 0;
	}

	/** Return the end of validity: the end of the grant less the loss margin. */
	long validUntil() {
		return this.grantedUntil - this.lossMargin;
	}

	/** Return the time until which the store certainly keeps the lease. */
	long grantedUntil() {
		return this.grantedUntil;
	}

	/**
	 * Return the loss margin: the time between the end of validity and the end of the
	 * grant, in nanoseconds.
	 */
	long lossMargin() {
		return this.lossMargin;
	}

	/**
	 * Apply the loss margin of a nested lease if it is longer. If less than twice the
	 * margin is left, it is applied only after the next renewal, as that renewal would
	 * otherwise come too late.
	 * @return whether the margin applies now
	 */
	private synchronized boolean widenMargin(long margin, long now) {
		this.wantedMargin = Math.max(this.wantedMargin, margin);
		if (margin > this.lossMargin && this.grantedUntil - now >= 2 * margin) {
			this.lossMargin = margin;
		}
		return margin <= this.lossMargin;
	}

	/**
	 * Note that the store has extended the lease. Never shortens validity, and never
	 * revives an ended hold: a user may have seen its end.
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
	 * Return whether a lease without renewal has run out of time. Users may intend this,
	 * so that it is no loss.
	 */
	boolean hasRunOut(long now) {
		return !isRenewed() && validUntil() - now <= 0;
	}

	/**
	 * Return the time for which other owners must be kept out without further renewals,
	 * in nanoseconds: at least until the minHold is over, and for a full lease time if
	 * the grant was only a claim.
	 */
	long lastsNanos(long now) {
		long claimed = this.claimed ? TimeUnit.MILLISECONDS.toNanos(renewalMillis(now)) : 0;
		return Math.max(Math.max(claimed, minHoldLeft(now)), this.grantedUntil - now);
	}

	/** Have the release take effect at once, even within the minHold. */
	void waiveMinHold() {
		this.minHoldWaived = true;
	}

	/**
	 * Apply the minHold again, because the work is repeated.
	 * @return whether the minHold was waived before
	 */
	boolean restoreMinHold() {
		boolean waived = this.minHoldWaived;
		this.minHoldWaived = false;
		return waived;
	}

	/**
	 * Return the rest of the minHold, in nanoseconds. Negative if it is over; 0 if it was
	 * waived, or if other keys of the request are still waited for.
	 */
	long minHoldLeft(long now) {
		return (isAwaitingOtherKeys() || this.minHoldWaived) ? 0 : grantedAt() + this.request.minHoldNanos() - now;
	}

	/**
	 * Return whether this hold may be handed over to a waiter of this instance without
	 * the store. Number and time of local hand-overs are limited, and enough of the lease
	 * must be left. A lease that may last longer than the lease time, as after an
	 * extension by the user, is not handed over, because others would wait too long if
	 * the next holder died.
	 */
	boolean mayBeHandedOver(HandOverLimits limits, long now) {
		long left = TimeUnit.NANOSECONDS.toMillis(this.grantedUntil - now);
		long margin = TimeUnit.NANOSECONDS.toMillis(this.request.lossMarginNanos());
		return this.handOvers < limits.maxCount() && now - this.grantedByStoreAt < limits.maxTime().toNanos()
				&& this.request.renewal() && this.renewalTrouble == null
				&& left > (this.request.claimMillis() + margin) / 2
				&& TimeUnit.NANOSECONDS.toMillis(this.mayLastUntil - now) <= this.request.leaseMillis();
	}

	// Renewal

	/**
	 * Return the lease time of the next renewal, in milliseconds. 0 if the hold is not
	 * renewed any more.
	 */
	synchronized long renewalMillis(long now) {
		LeaseHandle last = this.claimed ? lastToEnd() : null;
		return Math.max(longestRenewed(now), (last != null) ? last.leftMillis(now) : 0);
	}

	/** Return the lease time that determines the rate of renewals, in milliseconds. */
	long periodMillis(long now) {
		long longest = longestRenewed(now);
		return (longest > 0) ? longest : this.request.leaseMillis();
	}

	/**
	 * Return the longest lease time of renewed leases, at least three loss margins, in
	 * milliseconds. 0 without renewed leases.
	 */
	private long longestRenewed(long now) {
		long longest = longestLease(now);
		return (longest > 0) ? Math.max(longest, TimeUnit.NANOSECONDS.toMillis(3 * this.lossMargin)) : 0;
	}

	/**
	 * Return the time of the next renewal, or the end of validity if the hold is not
	 * renewed.
	 */
	long dueAt(long now) {
		return (renewalMillis(now) > 0) ? renewAtOrBeforeEnd() : validUntil();
	}

	/** Return the command that renews this hold. */
	Renewal renewalCommand(long millis) {
		return new Renewal(resource(), this.token, permits(), millis);
	}

	/** Return the earlier of the next renewal and the end of validity. */
	long renewAtOrBeforeEnd() {
		return ResourceQueue.earlier(this.renewAt, validUntil());
	}

	/**
	 * Renew this hold at once, for its longest lease.
	 * @param claimed whether the renewal must also cover leases without renewal
	 */
	private void renewInFull(boolean claimed, long now) {
		this.claimed |= claimed;
		this.renewAt = now;
	}

	/**
	 * Note that a renewal is sent.
	 * @return whether the previous renewal was not answered, and has therefore failed
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
		// A volatile write costs more than a read.
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
	 * Schedule the next renewal after an answer. Only a renewal that covers the longest
	 * lease postpones the next renewal: not a short extension by the user, nor a renewal
	 * sent before a longer lease was opened.
	 */
	synchronized void onRenewed(long millis, long sentAt, long nextAt) {
		if (millis >= renewalMillis(sentAt)) {
			this.claimed = false;
			this.renewAt = nextAt;
		}
	}

	/**
	 * Return whether the last renewal failed, or was not answered before the next
	 * renewal.
	 */
	boolean isRenewalFailing() {
		return this.renewalTrouble != null;
	}

	/**
	 * Note that a renewal is about to be sent.
	 * @return whether the lease is held
	 */
	synchronized boolean beginRenewal(long millis, long now) {
		this.mayLastUntil = ResourceQueue.later(this.mayLastUntil, now + TimeUnit.MILLISECONDS.toNanos(millis));
		return isHeld(now);
	}

	// End

	/** Return whether this hold was released or lost. */
	boolean hasEnded() {
		return this.released || isLost();
	}

	/**
	 * End this hold by release, unless its validity is over.
	 * @return whether the lease was held until now
	 */
	synchronized boolean markReleased(long now) {
		if (!isHeld(now)) {
			return false;
		}
		this.released = true;
		return true;
	}

	/**
	 * End this hold by loss.
	 * @param why the reason, for messages
	 * @return the users' actions to run, or {@code null} if the hold had already ended
	 */
	synchronized @Nullable List<Runnable> lose(String why) {
		return hasEnded() ? null : markLost(why);
	}

	/**
	 * End this hold by loss even if it was released: the store did not have the lease any
	 * more.
	 * @param why the reason, for messages
	 * @return the users' actions to run
	 */
	synchronized List<Runnable> markLost(String why) {
		this.loss = why;
		return this.leases.stream().flatMap((lease) -> lease.takeLossActions().stream()).toList();
	}

	/**
	 * Return the reason of the end of validity, for messages.
	 */
	String whyExpired() {
		if (!isRenewed()) {
			return "its lease time was over";
		}
		// Not now: the end may be noticed late.
		if (longestLease(validUntil()) == 0) {
			return "it was held for longer than its maxHold";
		}
		String trouble = this.renewalTrouble;
		return "it was not renewed in time" + ((trouble != null) ? ", as its last renewal failed: " + trouble : "");
	}

	/**
	 * Return the reason why an unreleased lease is not held, for messages. Its validity
	 * may be over without anything having noticed it.
	 */
	String whyNotHeld() {
		String known = this.loss;
		return (known != null) ? known : whyExpired();
	}

	/** Return whether this hold is known to be lost. */
	boolean isLost() {
		return this.loss != null;
	}

	/**
	 * Add an action to run on a loss, unless the lease is already released.
	 * @return {@code false} if the hold is already lost, so that the caller must run the
	 * action
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

	/** Notify the observers of the end. */
	void tellEnded(HoldEnd end) {
		RequestObservation observing = this.observation;
		if (observing != null) {
			observing.ended(end);
		}
	}

	/**
	 * Note that the loss is reported.
	 * @return whether it was not reported before
	 */
	synchronized boolean markLossReported() {
		boolean first = !this.lossReported;
		this.lossReported = true;
		return first;
	}

}
