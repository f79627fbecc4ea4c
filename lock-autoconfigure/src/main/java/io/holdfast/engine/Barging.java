package io.holdfast.engine;

import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * Who is not fair may go before one whose thread wakes up. That takes longer than many a
 * turn, and what was released would be of use to nobody meanwhile. So the thread is
 * called, and what was released is offered to whoever comes first; one that comes in vain
 * is passed on what is released next, as ever. Confined to the gate.
 *
 * <p>
 * As Java's own locks do that are not fair (Doug Lea, <cite>The java.util.concurrent
 * Synchronizer Framework</cite>, 2005, on fairness); but nobody comes in vain twice.
 */
final class Barging {

	/** For how long others may go before a thread that is called. */
	private static final long LONGEST_CALL = TimeUnit.MILLISECONDS.toNanos(1);

	private final PermitGate gate;

	/** Whose thread is called, and has not come yet. One at a time. */
	private @Nullable Waiter called;

	private long calledAt;

	/** What is there for it, unless others were faster. */
	private @Nullable Hold offered;

	Barging(PermitGate gate) {
		this.gate = gate;
	}

	@Nullable Waiter called() {
		return this.called;
	}

	/** How many permits are offered, and so are neither held nor free. */
	int permits() {
		return (this.offered != null) ? this.offered.permits : 0;
	}

	/**
	 * Offer what was released, if a thread comes for it.
	 * @param heir who is to have it otherwise
	 * @return whether it is offered
	 */
	boolean offer(Hold hold, Waiter heir, long now) {
		if (this.offered != null || !comes(heir, now)) {
			return false;
		}
		this.offered = hold;
		return true;
	}

	private boolean comes(Waiter heir, long now) {
		if (this.called != null) {
			// Others whose threads are blocked are called another time.
			return heir == this.called || heir.isBlocked();
		}
		if (!heir.call()) {
			return false;
		}
		this.called = heir;
		this.calledAt = now;
		return true;
	}

	/** What somebody who has just arrived may go on with. */
	@Nullable Hold takeBefore(Waiter waiter, long now) {
		boolean mayGoFirst = !waiter.demand.fair() && now - this.calledAt < LONGEST_CALL;
		return (mayGoFirst && this.offered != null && this.gate.isFor(this.offered, waiter, now)) ? take() : null;
	}

	/** Take back what is offered, if anything is. */
	@Nullable Hold take() {
		Hold hold = this.offered;
		this.offered = null;
		return hold;
	}

	/**
	 * A thread has come.
	 * @return whether it was called
	 */
	boolean came(Waiter waiter) {
		boolean expected = this.called == waiter;
		if (expected) {
			this.called = null;
		}
		return expected;
	}

	/**
	 * What nobody comes for, as the wait of whoever was called has ended.
	 */
	@Nullable Hold abandoned() {
		if (this.called == null || this.called.isWaiting()) {
			return null;
		}
		this.called = null;
		return take();
	}

}
