package io.holdfast.engine.lease;

import java.util.Arrays;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * The leases that are open on a hold, whose longest terms count; the last of them also
 * once it is closed. Changed by the coordinator only, and read by any thread.
 */
public final class OpenLeases {

	/**
	 * In the order of their opening, then {@code null}. An array, as renewals read it for
	 * each of many holds. Only its end is changed in place: a reader on another thread
	 * misses no lease that stays.
	 */
	private volatile @Nullable LeaseTerms[] leases = {};

	/** How many are open. Confined to the coordinator. */
	private int count;

	/**
	 * The longest lease time if all are renewed whatever the time, or
	 * {@link LeaseTerms#DEPENDS}. Noted here, as renewals ask for it several times for
	 * each of many holds, of which the processor's cache has nothing.
	 */
	private volatile long longestRenewed;

	/** Return how many leases are open. */
	public int count() {
		return this.count;
	}

	void add(LeaseTerms lease) {
		@Nullable LeaseTerms[] all = this.leases;
		if (this.count == 0) {
			all = new LeaseTerms[] { lease };
			this.longestRenewed = lease.foreverMillis();
		}
		else {
			if (this.count == all.length) {
				all = Arrays.copyOf(all, 2 * this.count);
			}
			all[this.count] = lease;
			this.longestRenewed = longer(this.longestRenewed, lease.foreverMillis());
		}
		this.count++;
		this.leases = all;
	}

	void remove(LeaseTerms lease) {
		this.count--;
		if (this.count == 0) {
			return;
		}
		@Nullable LeaseTerms[] all = this.leases;
		// Mostly it is the last one.
		int index = this.count;
		while (all[index] != lease) {
			index--;
		}
		if (index < this.count) {
			@Nullable LeaseTerms[] others = new LeaseTerms[all.length];
			System.arraycopy(all, 0, others, 0, index);
			System.arraycopy(all, index + 1, others, index, this.count - index);
			all = others;
		}
		else {
			all[index] = null;
		}
		this.leases = all;
		if (lease.foreverMillis() == this.longestRenewed) {
			this.longestRenewed = longestForever(this.longestRenewed);
		}
	}

	private static long longer(long millis, long other) {
		return (millis == LeaseTerms.DEPENDS || other == LeaseTerms.DEPENDS) ? LeaseTerms.DEPENDS
				: Math.max(millis, other);
	}

	/** Return whether any is to be renewed, or was until its maxHold. */
	boolean isRenewed() {
		for (@Nullable
		LeaseTerms lease : this.leases) {
			if (lease != null && lease.isRenewed()) {
				return true;
			}
		}
		return false;
	}

	/** Return the longest lease time of those renewed, 0 if none is (any more). */
	long longestRenewed(long now) {
		long noted = this.longestRenewed;
		return (noted != LeaseTerms.DEPENDS) ? noted : findLongestRenewed(now);
	}

	/** Return the longest, which was the given one with a lease more. */
	private long longestForever(long before) {
		long longest = 0;
		for (int i = 0; i < this.count; i++) {
			longest = longer(longest, Objects.requireNonNull(this.leases[i]).foreverMillis());
			if (longest == before) {
				return before;
			}
		}
		return longest;
	}

	private long findLongestRenewed(long now) {
		long longest = 0;
		for (@Nullable
		LeaseTerms lease : this.leases) {
			if (lease != null && lease.isRenewed(now)) {
				longest = Math.max(longest, lease.leaseMillis());
			}
		}
		return longest;
	}

	/** Return the most that is left of the time of those not renewed, 0 without any. */
	long longestLeft(long now) {
		long millis = 0;
		for (@Nullable
		LeaseTerms lease : this.leases) {
			if (lease != null && !lease.isRenewed()) {
				millis = Math.max(millis, lease.leftMillis(now));
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
		if (this.longestRenewed != LeaseTerms.DEPENDS) {
			return false;
		}
		long longest = longestRenewed(now);
		for (@Nullable
		LeaseTerms lease : this.leases) {
			if (lease != null && !lease.isRenewed() && lease.leaseMillis() > longest
					&& validUntil - lease.validIfGranted() < 0) {
				return true;
			}
		}
		return false;
	}

	/** Return whether code runs under one whose release has not begun. */
	boolean isAnyForCode() {
		for (@Nullable
		LeaseTerms lease : this.leases) {
			if (lease != null && lease.isForCode() && !lease.isReleased()) {
				return true;
			}
		}
		return false;
	}

	/** Return whether the code under them goes on although its callers have gone. */
	public boolean isCallerGone() {
		for (@Nullable
		LeaseTerms lease : this.leases) {
			if (lease != null && !lease.isCallerGone()) {
				return false;
			}
		}
		return this.count > 0;
	}

	/**
	 * Return whether the thread of the hold has asked for one that is open; others enter
	 * by a context. One whose release has begun does not count, though the coordinator
	 * may not know of it.
	 */
	boolean isAnyOwn() {
		for (@Nullable
		LeaseTerms lease : this.leases) {
			if (lease != null && lease.isOwn() && !lease.isReleased()) {
				return true;
			}
		}
		return false;
	}

}
