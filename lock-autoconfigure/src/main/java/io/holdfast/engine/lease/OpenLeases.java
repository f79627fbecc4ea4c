package io.holdfast.engine.lease;

import java.util.Arrays;

/**
 * The leases that are open on a hold, whose longest terms count; the last of them also
 * once it is closed. Changed by the coordinator only, and read by any thread.
 */
public final class OpenLeases {

	/**
	 * Not changed, but replaced. An array, as renewals read it for each of many holds.
	 */
	private volatile LeaseTerms[] leases = {};

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
		LeaseTerms[] more = Arrays.copyOf(this.leases, this.count + 1);
		more[this.count] = lease;
		this.leases = more;
		this.longestRenewed = (this.count > 0) ? longestForever() : lease.foreverMillis();
		this.count++;
	}

	void remove(LeaseTerms lease) {
		this.count--;
		if (this.count > 0) {
			this.leases = Arrays.stream(this.leases).filter((other) -> other != lease).toArray(LeaseTerms[]::new);
			this.longestRenewed = longestForever();
		}
	}

	/** Return whether any is to be renewed, or was until its maxHold. */
	boolean isRenewed() {
		for (LeaseTerms lease : this.leases) {
			if (lease.isRenewed()) {
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

	private long longestForever() {
		long longest = 0;
		for (LeaseTerms lease : this.leases) {
			long millis = lease.foreverMillis();
			if (millis == LeaseTerms.DEPENDS) {
				return millis;
			}
			longest = Math.max(longest, millis);
		}
		return longest;
	}

	private long findLongestRenewed(long now) {
		long longest = 0;
		for (LeaseTerms lease : this.leases) {
			if (lease.isRenewed(now)) {
				longest = Math.max(longest, lease.leaseMillis());
			}
		}
		return longest;
	}

	/** Return the most that is left of the time of those not renewed, 0 without any. */
	long longestLeft(long now) {
		long millis = 0;
		for (LeaseTerms lease : this.leases) {
			if (!lease.isRenewed()) {
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
		long longest = longestRenewed(now);
		for (LeaseTerms lease : this.leases) {
			if (!lease.isRenewed() && lease.leaseMillis() > longest && validUntil - lease.validIfGranted() < 0) {
				return true;
			}
		}
		return false;
	}

	/** Return whether code runs under one whose release has not begun. */
	boolean isAnyForCode() {
		for (LeaseTerms lease : this.leases) {
			if (lease.isForCode() && !lease.isReleased()) {
				return true;
			}
		}
		return false;
	}

	/** Return whether the code under them goes on although its callers have gone. */
	public boolean isCallerGone() {
		for (LeaseTerms lease : this.leases) {
			if (!lease.isCallerGone()) {
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
		for (LeaseTerms lease : this.leases) {
			if (lease.isOwn() && !lease.isReleased()) {
				return true;
			}
		}
		return false;
	}

}
