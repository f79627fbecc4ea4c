package io.holdfast.history;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.history.Event.Mode;
import org.jspecify.annotations.Nullable;

/**
 * What a history tells of one request, and of the lease that came of it.
 */
final class Request {

	/** More than any clock shows. */
	static final long NEVER = Long.MAX_VALUE / 4;

	/** How many permits a whole lock counts for; a reader counts for one. */
	static final long WHOLE = 1_000_000_000;

	final Event asked;

	/** How long others are kept out after its loss. */
	long margin;

	long interruptedAt = NEVER;

	/** Who decides on its turn; {@code null} if it has none. */
	@Nullable String inTurn;

	/** When it was granted or refused. */
	long answeredAt = NEVER;

	@Nullable Event granted;

	@Nullable Event refused;

	/** When replicas had confirmed its grant. */
	long confirmedAt = NEVER;

	/** Whom the store granted what was passed on to it; itself if nothing was. */
	Request first = this;

	/** From whom it was passed on; {@code null} if it was not. */
	@Nullable Request before;

	/**
	 * When the store granted what was passed on to it from a part of a request that never
	 * was granted as a whole: nothing else is told of that.
	 */
	long storedAt = NEVER;

	/**
	 * When the next one learnt that it has been passed on. What is renewed at that moment
	 * is the next one's already, which may have been called for it long after its end.
	 */
	long passedOnAt = NEVER;

	/** When the store last granted what it had granted before. */
	long grantedAgainAt = Long.MIN_VALUE;

	/** When its user began to release it, or learnt that it is lost. */
	long endedAt = NEVER;

	/** Until when it was held if that does not end it before; 0 if it was at its end. */
	long heldUntil;

	/** Until when it was valid for all that its user knew, whatever ended it before. */
	long validUntil;

	@Nullable Event lost;

	@Nullable Event releasing;

	final List<Event> answers = new ArrayList<>(1);

	/** When the store answered to its release that it held nothing. Of a root. */
	long goneAt = NEVER;

	long retainedUntil;

	/** What it is nested in, directly or not; itself if it is not nested. */
	Request root = this;

	/** The longest lease time of all that share one hold. Of a root. */
	long longestLease;

	/** When the last of all that share one hold ended. Of a root. */
	long holdEnd;

	/** When the last of them was released or known to be lost. Of a root. */
	long usedUntil;

	/** When the release of the last of them began, lost or not. Of a root. */
	long releasedAt;

	/** The longest margin of them. Of a root. */
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

	/** Locks of all modes share their keys, semaphores have others. */
	String group() {
		return (isPermits() ? "semaphore " : "lock ") + this.asked.key();
	}

	static String group(Event event) {
		return ((event.mode() == Mode.PERMITS) ? "semaphore " : "lock ") + event.key();
	}

	/** Whether it began a hold, and not entered one that was there. */
	boolean isHold() {
		return this.granted != null && this.root == this;
	}

	/** How many permits it counts for. */
	long weight() {
		if (!isPermits()) {
			return isWhole() ? WHOLE : 1;
		}
		return this.asked.permits();
	}

	long limit() {
		return isPermits() ? this.asked.limit() : WHOLE;
	}

	/** Since when the store may have what is granted to it. */
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

	/** The earlier of its validity's end and the start of its release. */
	long end() {
		return (this.heldUntil != 0) ? Math.min(this.endedAt, this.heldUntil) : this.endedAt;
	}

	@Override
	public String toString() {
		return "[" + this.asked + ((this.granted != null) ? " | " + this.granted : "")
				+ ((this.refused != null) ? " | " + this.refused : "") + " | ends at " + end() + "]";
	}

}
