package io.holdfast.engine;

import java.util.Comparator;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The leases that are open on a hold, whose longest terms count; the last of them also
 * once it is closed. They are sorted: a transaction with thousands of calls keeps a lease
 * of each, with terms of its own. Changed by the queue, and at the end of a wait for
 * several keys. Thread-safe.
 */
final class OpenLeases {

	/** Mark of leases whose renewal depends on the time. */
	private static final long DEPENDS = -1;

	private static final Comparator<LeaseHandle> BY_NUMBER = Comparator.comparingLong(LeaseHandle::number);

	/** As differences count, of times that may overflow. */
	private static final Comparator<LeaseHandle> BY_LEASE_TIME = Comparator.comparingLong(LeaseHandle::leaseMillis)
		.thenComparing((left, right) -> Long.signum(left.renewedUntil() - right.renewedUntil()))
		.thenComparing(BY_NUMBER);

	private static final Comparator<LeaseHandle> BY_END = ((Comparator<LeaseHandle>) (left, right) -> Long
		.signum(left.validIfGranted() - right.validIfGranted())).thenComparing(BY_NUMBER);

	/** Mostly there are only leases that are renewed. Never added to. */
	private static final SortedSet<LeaseHandle> NONE = new TreeSet<>(BY_NUMBER);

	/**
	 * Renewed leases, by lease time and then by the end of their renewal. Guarded by
	 * this.
	 */
	private final SortedSet<LeaseHandle> renewed = new TreeSet<>(BY_LEASE_TIME);

	/** Leases whose maxHold is over, as far as that was noticed. Guarded by this. */
	private SortedSet<LeaseHandle> over = NONE;

	/** Leases without renewal, by their end. Guarded by this. */
	private SortedSet<LeaseHandle> fixed = NONE;

	/** Number of open leases. Confined to the queue. */
	private int count;

	/** Number of open leases of the hold's own thread. Guarded by this. */
	private int own;

	/** Number of open leases with an end to their renewal. Guarded by this. */
	private int limited;

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
			this.renewed.clear();
			this.over = NONE;
			this.fixed = NONE;
			this.own = 0;
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

	/** Change the terms of a lease, unless it is closed. */
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
			this.fixed = (this.fixed == NONE) ? new TreeSet<>(BY_END) : this.fixed;
			this.fixed.add(lease);
		}
		count(lease, 1);
	}

	private boolean take(LeaseHandle lease) {
		boolean open = this.renewed.remove(lease) || this.over.remove(lease) || this.fixed.remove(lease);
		if (open) {
			count(lease, -1);
		}
		return open;
	}

	private void count(LeaseHandle lease, int more) {
		this.own += lease.isOwn() ? more : 0;
		this.limited += (lease.renewedNanos() != ResolvedRequest.FOREVER) ? more : 0;
		if (this.limited > 0 && this.over == NONE) {
			this.over = new TreeSet<>(BY_NUMBER);
		}
		this.longestRenewed = (this.limited > 0) ? DEPENDS
				: this.renewed.isEmpty() ? 0 : this.renewed.last().leaseMillis();
	}

	/** Return whether any is to be renewed, or was until its maxHold. */
	synchronized boolean isRenewed() {
		return !(this.renewed.isEmpty() && this.over.isEmpty());
	}

	/** Return whether any was to be renewed at a time. */
	boolean isAnyRenewed(long time) {
		return isAny((lease) -> lease.isRenewed(time));
	}

	/** Return the longest lease time of the renewed leases, 0 without any. */
	long longestRenewed(long now) {
		long noted = this.longestRenewed;
		return (noted != DEPENDS) ? noted : findLongestRenewed(now);
	}

	private synchronized long findLongestRenewed(long now) {
		while (!this.renewed.isEmpty()) {
			LeaseHandle longest = this.renewed.last();
			if (longest.isRenewed(now)) {
				return longest.leaseMillis();
			}
			this.renewed.remove(longest);
			this.over.add(longest);
		}
		return 0;
	}

	/** Return the longest rest of the leases without renewal, 0 without any. */
	synchronized long longestLeft(long now) {
		return this.fixed.isEmpty() ? 0 : Math.max(0, this.fixed.last().leftMillis(now));
	}

	/**
	 * Return whether one that is not renewed is to last for longer than the store has
	 * been told.
	 * @param grantedUntil the end of the hold's grant
	 */
	synchronized boolean isAnyCutShort(long grantedUntil, long now) {
		if (this.fixed.isEmpty()) {
			return false;
		}
		LeaseHandle last = this.fixed.last();
		return last.leaseMillis() > longestRenewed(now) && grantedUntil - last.validIfGranted() < 0;
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
	synchronized boolean isAnyOwn() {
		return this.own > 0 && isAny((lease) -> lease.isOwn() && !lease.isReleased());
	}

	/**
	 * Return and forget the actions for a loss of the hold, in the order of the leases.
	 */
	synchronized List<Runnable> takeLossActions() {
		return Stream.of(this.renewed, this.over, this.fixed)
			.flatMap(SortedSet::stream)
			.sorted(BY_NUMBER)
			.flatMap((lease) -> lease.takeLossActions().stream())
			.toList();
	}

	private synchronized boolean isAny(Predicate<LeaseHandle> condition) {
		for (SortedSet<LeaseHandle> leases : List.of(this.renewed, this.over, this.fixed)) {
			for (LeaseHandle lease : leases) {
				if (condition.test(lease)) {
					return true;
				}
			}
		}
		return false;
	}

}
