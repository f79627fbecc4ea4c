package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * The leases that are open on a hold, whose longest terms count; the last of them also
 * once it is closed. Mostly there is one. Each change and each question looks at all of
 * them. Changed by the queue, and at the end of a wait for several keys. Thread-safe.
 */
final class OpenLeases {

	/** Mark of leases whose renewal depends on the time. */
	private static final long DEPENDS = -1;

	/** In the order of their opening. Guarded by this. */
	private final List<LeaseHandle> leases = new ArrayList<>(1);

	/** Number of open leases. Confined to the queue. */
	private int count;

	/**
	 * The longest lease time if all are renewed at any time, or {@link #DEPENDS}. Noted
	 * here, as renewals ask for it several times for each of many holds, of which the
	 * processor's cache has nothing.
	 */
	private volatile long longestRenewed;

	/** Return how many leases are open. */
	int count() {
		return this.count;
	}

	synchronized void add(LeaseHandle lease) {
		if (this.count == 0) {
			this.leases.clear();
		}
		this.count++;
		this.leases.add(lease);
		noteLongest();
	}

	synchronized void remove(LeaseHandle lease) {
		this.count--;
		if (this.count > 0) {
			this.leases.remove(lease);
			noteLongest();
		}
	}

	/** Change the terms of a lease. */
	synchronized void change(Runnable change) {
		change.run();
		noteLongest();
	}

	private void noteLongest() {
		long longest = 0;
		for (LeaseHandle lease : this.leases) {
			longest = (longest == DEPENDS || lease.renewedNanos() != ResolvedRequest.FOREVER) ? DEPENDS
					: Math.max(longest, lease.leaseMillis());
		}
		this.longestRenewed = longest;
	}

	/** Return whether any is to be renewed, or was until its maxHold. */
	boolean isRenewed() {
		return isAny(LeaseHandle::isRenewed);
	}

	/** Return the longest lease time of the renewed leases, 0 without any. */
	long longestRenewed(long now) {
		long noted = this.longestRenewed;
		return (noted != DEPENDS) ? noted : findLongestRenewed(now);
	}

	private synchronized long findLongestRenewed(long now) {
		long longest = 0;
		for (LeaseHandle lease : this.leases) {
			longest = lease.isRenewed(now) ? Math.max(longest, lease.leaseMillis()) : longest;
		}
		return longest;
	}

	/** Return the longest rest of the leases without renewal, 0 without any. */
	synchronized long longestLeft(long now) {
		long longest = 0;
		for (LeaseHandle lease : this.leases) {
			longest = lease.isRenewed() ? longest : Math.max(longest, lease.leftMillis(now));
		}
		return longest;
	}

	/**
	 * Return whether one that is not renewed is to last for longer than the store has
	 * been told.
	 * @param grantedUntil the end of the hold's grant
	 */
	boolean isAnyCutShort(long grantedUntil, long now) {
		if (this.longestRenewed != DEPENDS) {
			return false;
		}
		long longest = findLongestRenewed(now);
		return isAny((lease) -> !lease.isRenewed() && lease.leaseMillis() > longest
				&& grantedUntil - lease.validIfGranted() < 0);
	}

	/** Return whether code runs under one whose release has not begun. */
	boolean isAnyForCode() {
		return isAny((lease) -> lease.isForCode() && !lease.isReleased());
	}

	/** Return whether the code under them goes on although its callers have gone. */
	boolean isCallerGone() {
		return this.count > 0 && !isAny((lease) -> !lease.isCallerGone());
	}

	/**
	 * Return whether the thread of the hold has asked for one that is open; others enter
	 * by a context. One whose release has begun does not count, though the queue may not
	 * know of it.
	 */
	boolean isAnyOwn() {
		return isAny((lease) -> lease.isOwn() && !lease.isReleased());
	}

	/**
	 * Return and forget the actions for a loss of the hold, in the order of the leases.
	 */
	synchronized List<Runnable> takeLossActions() {
		return this.leases.stream().flatMap((lease) -> lease.takeLossActions().stream()).toList();
	}

	private synchronized boolean isAny(Predicate<LeaseHandle> condition) {
		for (LeaseHandle lease : this.leases) {
			if (condition.test(lease)) {
				return true;
			}
		}
		return false;
	}

}
