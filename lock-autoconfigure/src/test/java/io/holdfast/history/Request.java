package io.holdfast.history;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.history.Event.Mode;
import org.jspecify.annotations.Nullable;

/**
 * Content of a history about a request and its lease.
 */
final class Request {

	/** More than any clock shows. */
	static final long NEVER = Long.MAX_VALUE / 4;

	/** Weight of a whole lock in permits; a reader has the weight 1. */
	static final long WHOLE = 1_000_000_000;

	final Event asked;

	/** Time during which the key stays taken after a loss. */
	long margin;

	long interruptedAt = NEVER;

	/** Owner of the decision on its turn; {@code null} without a turn. */
	@Nullable String inTurn;

	/** Time of the grant or refusal. */
	long answeredAt = NEVER;

	@Nullable Event granted;

	@Nullable Event refused;

	/** Time of the confirmation by replicas. */
	long confirmedAt = NEVER;

	/**
	 * Receiver of the store's grant before all hand-overs; itself without a hand-over.
	 */
	Request first = this;

	/** Former lease of a hand-over; {@code null} without a hand-over. */
	@Nullable Request before;

	/**
	 * Time of the store's grant to a part of a request that was never granted as a whole,
	 * before a hand-over to this request; the history has no other trace of that part.
	 */
	long storedAt = NEVER;

	/**
	 * Time when the next lease learnt of the hand-over. A renewal at that moment belongs
	 * to the next lease, which may have been called for it long after its end.
	 */
	long passedOnAt = NEVER;

	/** Time of the store's last repeated grant. */
	long grantedAgainAt = Long.MIN_VALUE;

	/** Time when the user began the release, or learnt of the loss. */
	long endedAt = NEVER;

	/** End of the hold without an earlier end; 0 at the end itself. */
	long heldUntil;

	/** End of the validity as known to the user, with or without an earlier end. */
	long validUntil;

	@Nullable Event lost;

	@Nullable Event releasing;

	final List<Event> answers = new ArrayList<>(1);

	/** Time when the store found nothing to release. Of a root. */
	long goneAt = NEVER;

	long retainedUntil;

	/** The outermost lease; itself without an outer lease. */
	Request root = this;

	/** The longest lease time of all leases on the hold. Of a root. */
	long longestLease;

	/** End of the last lease on the hold. Of a root. */
	long holdEnd;

	/**
	 * Time when the last lease on the hold was released or known to be lost. Of a root.
	 */
	long usedUntil;

	/** Start of the last release on the hold, lost or not. Of a root. */
	long releasedAt;

	/** The longest margin of the leases on the hold. Of a root. */
	long lossMargin;

	Request(Event asked) {
		this.asked = asked;
	}

	boolean isWhole() {
		return this.asked.mode() == Mode.EXCLUSIVE;
	}

	boolean isPermits() {
		return this.asked.mode() == Mode.PERMITS;
	}

	boolean isPart() {
		return this.asked.why().equals("PART");
	}

	/** Locks of all modes share their keys, semaphores have keys of their own. */
	String group() {
		return (isPermits() ? "semaphore " : "lock ") + this.asked.key();
	}

	static String group(Event event) {
		return ((event.mode() == Mode.PERMITS) ? "semaphore " : "lock ") + event.key();
	}

	/** Return whether the lease began a hold, instead of entering an existing hold. */
	boolean isHold() {
		return this.granted != null && this.root == this;
	}

	/** Return the weight in permits. */
	long weight() {
		if (!isPermits()) {
			return isWhole() ? WHOLE : 1;
		}
		return this.asked.permits();
	}

	long limit() {
		return isPermits() ? this.asked.limit() : WHOLE;
	}

	/** Return the earliest time of an entry in the store. */
	long firstAskedAt() {
		return Math.min(this.first.asked.at(), this.storedAt);
	}

	long begin() {
		return (this.granted != null) ? this.granted.at() : NEVER;
	}

	long fence() {
		return (this.granted != null) ? this.granted.fence() : 0;
	}

	boolean isOfSameUser(Request other) {
		return !this.asked.user().isEmpty() && this.asked.user().equals(other.asked.user())
				&& this.asked.by().equals(other.asked.by());
	}

	/** Return the earlier of its validity's end and the start of its release. */
	long end() {
		return (this.heldUntil != 0) ? Math.min(this.endedAt, this.heldUntil) : this.endedAt;
	}

	@Override
	public String toString() {
		return "[" + this.asked + ((this.granted != null) ? " | " + this.granted : "")
				+ ((this.refused != null) ? " | " + this.refused : "") + " | ends at " + end() + "]";
	}

}
