package io.holdfast.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;

/**
 * The leases that are open on a hold, whose longest terms count; the last of them also
 * once it is closed. Changed by the queue, and at the end of a wait for several keys.
 * Thread-safe.
 */
final class OpenLeases {

	/** Mark of leases whose renewal depends on the time. */
	private static final long DEPENDS = -1;

	/**
	 * Leases by their terms: thousands of nested leases mostly have the same ones.
	 * Guarded by this.
	 */
	private final List<SameTerms> groups = new ArrayList<>(1);

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

	synchronized void add(LeaseTerms lease) {
		if (this.count == 0) {
			this.groups.clear();
		}
		this.count++;
		put(lease);
		this.longestRenewed = findLongestForever();
	}

	synchronized void remove(LeaseTerms lease) {
		this.count--;
		if (this.count > 0) {
			take(lease);
			this.longestRenewed = findLongestForever();
		}
	}

	/**
	 * Change the terms of a lease, which counts as opened last then unless it is closed.
	 */
	synchronized void change(LeaseTerms lease, Runnable change) {
		boolean open = take(lease);
		change.run();
		if (open) {
			put(lease);
			this.longestRenewed = findLongestForever();
		}
	}

	private void put(LeaseTerms lease) {
		int index = indexOf(lease);
		if (index < 0) {
			index = this.groups.size();
			this.groups.add(new SameTerms(lease.leaseMillis(), lease.renewedNanos(), new ArrayDeque<>(1)));
		}
		this.groups.get(index).leases.add(lease);
	}

	private boolean take(LeaseTerms lease) {
		int index = indexOf(lease);
		if (index < 0) {
			return false;
		}
		Deque<LeaseTerms> leases = this.groups.get(index).leases;
		boolean found = leases.removeLastOccurrence(lease);
		if (leases.isEmpty()) {
			this.groups.remove(index);
		}
		return found;
	}

	/** Return where the group of a lease is, or -1. Mostly it is the last one. */
	private int indexOf(LeaseTerms lease) {
		int index = this.groups.size() - 1;
		while (index >= 0 && !this.groups.get(index).isOf(lease)) {
			index--;
		}
		return index;
	}

	private long findLongestForever() {
		long longest = 0;
		for (SameTerms group : this.groups) {
			if (group.renewedNanos != ResolvedRequest.FOREVER) {
				return DEPENDS;
			}
			longest = Math.max(longest, group.leaseMillis);
		}
		return longest;
	}

	/** Return whether any is to be renewed, or was until its maxHold. */
	synchronized boolean isRenewed() {
		for (SameTerms group : this.groups) {
			if (group.renewedNanos > 0) {
				return true;
			}
		}
		return false;
	}

	/** Return the longest lease time of those renewed, 0 if none is (any more). */
	long longestRenewed(long now) {
		long noted = this.longestRenewed;
		return (noted != DEPENDS) ? noted : findLongestRenewed(now);
	}

	private synchronized long findLongestRenewed(long now) {
		long longest = 0;
		for (SameTerms group : this.groups) {
			if (group.leaseMillis > longest && group.renewedNanos > 0 && group.longest().isRenewed(now)) {
				longest = group.leaseMillis;
			}
		}
		return longest;
	}

	/** Return the most that is left of the time of those not renewed, 0 without any. */
	synchronized long longestLeft(long now) {
		long millis = 0;
		for (SameTerms group : this.groups) {
			if (group.renewedNanos == 0 && group.leaseMillis > millis) {
				millis = Math.max(millis, group.longest().leftMillis(now));
			}
		}
		return millis;
	}

	/**
	 * Return whether one that is not renewed is to last for longer than the store has
	 * been told.
	 * @param validUntil the end of the hold's validity
	 */
	boolean isAnyCutShort(long validUntil, long now) {
		return this.longestRenewed == DEPENDS && isAnyLonger(longestRenewed(now), validUntil);
	}

	private synchronized boolean isAnyLonger(long longest, long validUntil) {
		for (SameTerms group : this.groups) {
			if (group.renewedNanos == 0 && group.leaseMillis > longest
					&& validUntil - group.longest().validIfGranted() < 0) {
				return true;
			}
		}
		return false;
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

	private synchronized boolean isAny(Predicate<LeaseTerms> condition) {
		for (SameTerms group : this.groups) {
			for (LeaseTerms lease : group.leases) {
				if (condition.test(lease)) {
					return true;
				}
			}
		}
		return false;
	}

	/**
	 * The leases of the same terms, in the order of opening.
	 *
	 * @param leaseMillis the lease time
	 * @param renewedNanos for how long each is renewed
	 * @param leases the leases, never none
	 */
	private record SameTerms(long leaseMillis, long renewedNanos, Deque<LeaseTerms> leases) {

		boolean isOf(LeaseTerms lease) {
			return this.leaseMillis == lease.leaseMillis() && this.renewedNanos == lease.renewedNanos();
		}

		/** Return the lease that lasts longest, as it was opened last. */
		LeaseTerms longest() {
			return this.leases.getLast();
		}

	}

}
