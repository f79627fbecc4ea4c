package io.holdfast.engine.queue;

import java.util.concurrent.TimeUnit;

import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.observe.EngineObserver.HandOver;
import org.jspecify.annotations.Nullable;

/**
 * Lets requests that are not fair barge. Waking a thread takes longer than a short
 * critical section, so a released hold is offered to any such request that arrives first
 * while the next waiter wakes up, for 1 ms at most. A waiter that finds the hold taken
 * when it is awake gets the next release. Confined to the coordinator.
 *
 * <p>
 * As Java's own locks do that are not fair (Doug Lea, <cite>The java.util.concurrent
 * Synchronizer Framework</cite>, 2005, on fairness); but no waiter loses twice.
 */
final class Barging {

	/** For how long others may go before a thread that is woken. */
	private static final long LONGEST_WAKE_UP = TimeUnit.MILLISECONDS.toNanos(1);

	private final BargingHost coordinator;

	/** Whose thread is being woken, and has not claimed the offer yet. One at a time. */
	private @Nullable Waiter waking;

	private long wakingSince;

	/** What is there for it, unless others were faster. */
	private @Nullable Hold offered;

	Barging(BargingHost coordinator) {
		this.coordinator = coordinator;
	}

	@Nullable Waiter waking() {
		return this.waking;
	}

	/** Return how many permits are offered. */
	int offered() {
		return (this.offered != null) ? this.offered.permits() : 0;
	}

	/**
	 * Offer what was released, if a thread comes for it.
	 * @param next the waiter that is to have it otherwise
	 * @return whether it is offered
	 */
	boolean tryOffer(Hold hold, Waiter next, long now) {
		if (this.offered != null || !tryWake(next, now)) {
			return false;
		}
		this.offered = hold;
		return true;
	}

	private boolean tryWake(Waiter next, long now) {
		if (this.waking != null) {
			// Others whose threads are blocked are woken another time.
			return next == this.waking || next.isBlocked();
		}
		if (!next.tryWake()) {
			return false;
		}
		this.waking = next;
		this.wakingSince = now;
		return true;
	}

	/** Let a request that has just arrived take what is offered, if it may barge. */
	boolean tryBarge(Waiter waiter, long now) {
		Hold hold = this.offered;
		if (hold == null || waiter.request.fair() || now - this.wakingSince >= LONGEST_WAKE_UP
				|| !this.coordinator.canTakeOver(hold, waiter, now)) {
			return false;
		}
		this.offered = null;
		this.coordinator.handOver(hold, waiter, now, HandOver.BARGED);
		return true;
	}

	/** Give a waiter what is left of the offer that its thread was woken for. */
	void claimOffer(Waiter waiter) {
		if (this.waking != waiter) {
			return;
		}
		this.waking = null;
		Hold hold = take();
		long now = this.coordinator.context().scheduler.nanoTime();
		if (hold != null && !this.coordinator.context().isClosed() && this.coordinator.canTakeOver(hold, waiter, now)) {
			this.coordinator.handOver(hold, waiter, now, HandOver.LOCAL);
		}
		else if (hold != null) {
			this.coordinator.releaseInStore(hold);
		}
	}

	/** Pass on what is offered, if the wait of the waking waiter has ended. */
	void discardIfWaiterGone() {
		if (this.waking == null || this.waking.isWaiting()) {
			return;
		}
		this.waking = null;
		Hold hold = take();
		if (hold != null && !this.coordinator.tryHandOver(hold, this.coordinator.context().scheduler.nanoTime())) {
			this.coordinator.releaseInStore(hold);
		}
	}

	/** Release in the store what is offered. */
	void releaseOffered() {
		Hold hold = take();
		if (hold != null) {
			this.coordinator.releaseInStore(hold);
		}
	}

	private @Nullable Hold take() {
		Hold hold = this.offered;
		this.offered = null;
		return hold;
	}

}
