package io.holdfast.engine;

import io.holdfast.NotAcquiredException.Reason;

/**
 * The gate of permits. Waiters contend as they come, so that the store's queue has those
 * of all instances in their order; only so many, though, since each of them asks again
 * now and then. What is held here does not matter: only the store knows what others hold.
 */
class PermitGate extends Gate {

	/** How many waiters contend at a time; the others wait here. */
	static final int CONTENDERS = 200;

	PermitGate(LeaseEngine engine, Resource resource) {
		super(engine, resource);
	}

	@Override
	void arrive(Waiter waiter) {
		Demand demand = waiter.demand;
		boolean isFirst = this.queue.isEmpty() || !demand.fair() || demand.permits() > demand.limit();
		if (this.engine.isClosed()) {
			fail(waiter, Failures.notAcquired(waiter, Reason.SHUTDOWN));
		}
		else if (demand.waits() && isFull()) {
			fail(waiter, Failures.notAcquired(waiter, Reason.TOO_MANY_WAITERS));
		}
		else if (isFirst && (!demand.waits() || admits(waiter))) {
			contend(waiter);
			waiter.ask();
		}
		else if (demand.waits()) {
			standInLine(waiter);
		}
		else {
			// Others wait here already.
			timedOut(waiter);
		}
	}

	@Override
	boolean admits(Waiter waiter) {
		// What cannot be had need not wait for being refused.
		return this.contenders.size() < CONTENDERS || waiter.demand.permits() > waiter.demand.limit();
	}

	@Override
	boolean passesOn() {
		return false;
	}

	@Override
	void began(Hold hold) {
		// Counted by the store.
	}

	@Override
	void ended(Hold hold) {
		// Counted by the store.
	}

	@Override
	boolean isHeldBy(Thread owner) {
		return false;
	}

	@Override
	void lost(Hold hold) {
		detach(hold);
	}

}
