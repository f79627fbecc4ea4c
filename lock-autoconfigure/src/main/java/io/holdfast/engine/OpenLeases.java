package io.holdfast.engine;

import java.util.Comparator;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Open leases on a hold. The longest of their terms apply to the hold. After the last
 * lease is closed, its terms still apply. The leases are sorted, because a transaction
 * may keep the leases of thousands of calls with different terms. Changed by the queue,
 * and at the end of a wait for several keys. Thread-safe.
 */
final class OpenLeases {

	/** Value of {@link #longestRenewed} if it depends on the time. */
	private static final long TIME_DEPENDENT = -1;

	private static final Comparator<LeaseHandle> BY_NUMBER = Comparator.comparingLong(LeaseHandle::number);

	/** Times are compared by their difference, because they may overflow. */
	private static final Comparator<LeaseHandle> BY_LEASE_TIME = Comparator.comparingLong(LeaseHandle::leaseMillis)
		.thenComparing((left, right) -> Long.signum(left.renewedUntil() - right.renewedUntil()))
		.thenComparing(BY_NUMBER);

	private static final Comparator<LeaseHandle> BY_END = ((Comparator<LeaseHandle>) (left, right) -> Long
		.signum(left.validIfGranted() - right.validIfGranted())).thenComparing(BY_NUMBER);

	/** Empty set for the usual case of renewed leases only. Never modified. */
	private static final SortedSet<LeaseHandle> NONE = new TreeSet<>(BY_NUMBER);

	/**
	 * Renewed leases, sorted by lease time and then by the end of renewal. Guarded by
	 * this.
	 */
	private final SortedSet<LeaseHandle> renewed = new TreeSet<>(BY_LEASE_TIME);

	/** Leases whose maxHold is known to be over. Guarded by this. */
	private SortedSet<LeaseHandle> pastMaxHold = NONE;

	/** Leases without renewal, sorted by their end. Guarded by this. */
	private SortedSet<LeaseHandle> notRenewed = NONE;

	/** Number of open leases. Confined to the queue. */
	private int count;

	/** Number of open leases that let the hold's thread re-enter. Guarded by this. */
	private int reentrant;

	/** Number of open leases with a maxHold or without renewal. Guarded by this. */
	private int limited;

	/**
	 * Longest lease time of renewed leases, in milliseconds, or {@link #TIME_DEPENDENT}.
	 * Cached, because renewals read it several times for each of many holds that are not
	 * in the processor's cache.
	 */
	private volatile long longestRenewed;

	/** Return the number of open leases. */
	int count() {
		return this.count;
	}

	synchronized void add(LeaseHandle lease) {
		if (this.count == 0) {
			this.renewed.clear();
			this.pastMaxHold = NONE;
			this.notRenewed = NONE;
			this.reentrant = 0;
			this.limited = 0;
		}
		this.count++;
		put(lease);
	}

	synchronized void remove(LeaseHandle lease) {
		this.count--;
		if (this.count > 0) {
			take(lease);
		}
	}

	/** Change the terms of a lease. Keeps the lease sorted if it is open. */
	synchronized void change(LeaseHandle lease, Runnable change) {
		boolean open = take(lease);
		change.run();
		if (open) {
			put(lease);
		}
	}

	private void put(LeaseHandle lease) {
		if (lease.isRenewed()) {
			this.renewed.add(lease);
		}
		else {
			this.notRenewed = (this.notRenewed == NONE) ? new TreeSet<>(BY_END) : this.notRenewed;
			this.notRenewed.add(lease);
		}
		count(lease, 1);
	}

	private boolean take(LeaseHandle lease) {
		boolean open = this.renewed.remove(lease) || this.pastMaxHold.remove(lease) || this.notRenewed.remove(lease);
		if (open) {
			count(lease, -1);
		}
		return open;
	}

	private void count(LeaseHandle lease, int delta) {
		this.reentrant += lease.allowsReentry() ? delta : 0;
		this.limited += (lease.renewedNanos() != ResolvedRequest.FOREVER) ? delta : 0;
		if (this.limited > 0 && this.pastMaxHold == NONE) {
			this.pastMaxHold = new TreeSet<>(BY_NUMBER);
		}
		this.longestRenewed = (this.limited > 0) ? TIME_DEPENDENT
				: this.renewed.isEmpty() ? 0 : this.renewed.last().leaseMillis();
	}

	/** Return whether any open lease has renewal, even if its maxHold is over. */
	synchronized boolean isRenewed() {
		return !(this.renewed.isEmpty() && this.pastMaxHold.isEmpty());
	}

	/** Return whether any open lease is renewed at a time. */
	boolean isAnyRenewed(long time) {
		return isAny((lease) -> lease.isRenewed(time));
	}

	/**
	 * Return the longest lease time of the renewed leases, in milliseconds. 0 without
	 * renewed leases.
	 */
	long longestRenewed(long now) {
		long noted = this.longestRenewed;
		return (noted != TIME_DEPENDENT) ? noted : findLongestRenewed(now);
	}

	private synchronized long findLongestRenewed(long now) {
		while (!this.renewed.isEmpty()) {
			LeaseHandle longest = this.renewed.last();
			if (longest.isRenewed(now)) {
				return longest.leaseMillis();
			}
			this.renewed.remove(longest);
			this.pastMaxHold.add(longest);
		}
		return 0;
	}

	/**
	 * Return the longest time left of the leases without renewal, in milliseconds. 0
	 * without such leases.
	 */
	synchronized long longestLeft(long now) {
		return this.notRenewed.isEmpty() ? 0 : Math.max(0, this.notRenewed.last().leftMillis(now));
	}

	/**
	 * Return whether a lease without renewal should last longer than the grant in the
	 * store.
	 * @param grantedUntil the end of the hold's grant
	 */
	synchronized boolean isAnyCutShort(long grantedUntil, long now) {
		if (this.notRenewed.isEmpty()) {
			return false;
		}
		LeaseHandle last = this.notRenewed.last();
		return last.leaseMillis() > longestRenewed(now) && grantedUntil - last.validIfGranted() < 0;
	}

	/** Return whether code runs under an open lease whose release has not begun. */
	boolean isAnyForCode() {
		return isAny((lease) -> lease.isForCode() && !lease.isReleased());
	}

	/** Return whether the callers of all open leases have gone. */
	boolean isCallerGone() {
		return this.count > 0 && !isAny((lease) -> !lease.isCallerGone());
	}

	/**
	 * Return whether the hold's thread has requested an open lease, as opposed to leases
	 * that were nested by a context. A lease whose release has begun does not count, even
	 * if the queue has not processed the release yet.
	 */
	synchronized boolean isAnyReentrant() {
		return this.reentrant > 0 && isAny((lease) -> lease.allowsReentry() && !lease.isReleased());
	}

	/**
	 * Remove and return the actions on a loss of the hold, in the order of the leases.
	 */
	synchronized List<Runnable> takeLossActions() {
		return Stream.of(this.renewed, this.pastMaxHold, this.notRenewed)
			.flatMap(SortedSet::stream)
			.sorted(BY_NUMBER)
			.flatMap((lease) -> lease.takeLossActions().stream())
			.toList();
	}

	private synchronized boolean isAny(Predicate<LeaseHandle> condition) {
		for (SortedSet<LeaseHandle> leases : List.of(this.renewed, this.pastMaxHold, this.notRenewed)) {
			for (LeaseHandle lease : leases) {
				if (condition.test(lease)) {
					return true;
				}
			}
		}
		return false;
	}

}
