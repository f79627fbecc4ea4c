package io.holdfast.engine;

import io.holdfast.NotAcquiredException.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The gate of permits: as many waiters contend as the limit admits if all were free. What
 * is held here does not matter to it: only the store knows what others hold.
 */
class PermitGate extends Gate {

	PermitGate(LeaseEngine engine, Resource resource) {
		super(engine, resource);
	}

	@Override
	void arrive(Waiter waiter) {
		Demand demand = waiter.demand;
		boolean first = this.queue.isEmpty() || !demand.fair() || isTooBig(demand);
		if (this.engine.isClosed()) {
			fail(waiter, Failures.notAcquired(waiter, Reason.SHUTDOWN));
		}
		else if (first && (!demand.waits() || admits(waiter))) {
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
		if (isTooBig(waiter.demand)) {
			return true;
		}
		long contended = 0;
		for (Waiter contender : this.contenders) {
			contended += contender.demand.waits() ? contender.demand.permits() : 0;
		}
		return contended + waiter.demand.permits() <= waiter.demand.limit();
	}

	/** It need not wait to be refused, unless an operator has raised the limit. */
	private static boolean isTooBig(Demand demand) {
		return demand.permits() > demand.limit();
	}

	@Override
	@Nullable Waiter nextInLine() {
		Waiter head = super.nextInLine();
		if (head != null || this.queue.isEmpty()) {
			return head;
		}
		return this.queue.stream().filter((waiter) -> !waiter.demand.fair() && admits(waiter)).findFirst().orElse(null);
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
