package io.holdfast.engine;

/**
 * The renewal of a hold: when it is due, and how the last one went. Thread-safe.
 *
 * <p>
 * What seldom changes is written only then: a volatile write costs a renewal more than
 * the look before it.
 */
final class RenewalState {

	/** On the monotonic clock. */
	private volatile long at;

	/** Granted for less than the lease that was asked for. */
	private volatile boolean claimed;

	/** Whether a renewal was sent that has no answer yet. */
	private volatile boolean unanswered;

	private volatile boolean failing;

	/**
	 * Create the state of a hold that was not renewed yet.
	 * @param claimed whether it was granted for less than the lease that was asked for
	 * @param at when it is to be renewed, on the monotonic clock
	 */
	RenewalState(boolean claimed, long at) {
		this.claimed = claimed;
		this.at = at;
	}

	/** Return when it is to be renewed, on the monotonic clock. */
	long at() {
		return this.at;
	}

	/** Return when it is to be renewed, or the end of the hold if that comes first. */
	long atOrBefore(long end) {
		long due = this.at;
		return (due - end < 0) ? due : end;
	}

	/**
	 * Return whether it lasts for less than its leases ask for, also those that are not
	 * to be renewed, until it is renewed in full.
	 */
	boolean isClaimed() {
		return this.claimed;
	}

	/** Renew it at a time, on the monotonic clock. */
	void schedule(long at) {
		this.at = at;
	}

	/**
	 * Renew it at once, for what its leases ask for.
	 * @param claimed whether one of them is not to be renewed after that
	 */
	void scheduleInFull(boolean claimed, long now) {
		this.claimed |= claimed;
		this.at = now;
	}

	/**
	 * Note that a renewal is sent.
	 * @return whether the one before was not answered, and so has failed
	 */
	boolean onSent() {
		boolean silent = this.unanswered;
		this.unanswered = true;
		if (silent) {
			this.failing = true;
		}
		return silent;
	}

	/** Note that a renewal was answered. */
	void onAnswered() {
		this.unanswered = false;
		if (this.failing) {
			this.failing = false;
		}
	}

	/** Note that a renewal failed. */
	void onFailed() {
		this.unanswered = false;
		this.failing = true;
	}

	/** Note that the store lengthened it by all that its leases ask for. */
	void onRenewedInFull(long nextAt) {
		if (this.claimed) {
			this.claimed = false;
		}
		this.at = nextAt;
	}

	/** Return whether the last one failed, or was not answered before the next one. */
	boolean isFailing() {
		return this.failing;
	}

}
