package io.holdfast.engine.queue;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator of an exclusive lock: one waiter at a time contends; granted, its hold
 * is the <em>holder</em>. Whenever a request waits here, there is a contender or a valid
 * holder.
 */
final class LockCoordinator extends ResourceCoordinator {

	/** Written by events only; read by threads that look for a hold of their own. */
	private volatile @Nullable Hold holder;

	/** Lost, but not released yet by their holders. Mostly none is. */
	private List<Hold> lost = List.of();

	LockCoordinator(CoordinatorParts parts, Resource resource) {
		super(parts, resource);
	}

	@Override
	void arrive(Waiter waiter) {
		dropInvalidHolder();
		List<Hold> enclosing = waiter.enclosingHolds();
		Hold current = this.holder;
		boolean isOwn = current != null && (current.isOf(waiter.reentrantThread()) || enclosing.contains(current));
		boolean lostByThread = hasLost(waiter, enclosing);
		if (isOwn && !lostByThread) {
			// Also during a shut-down: it is part of the work in flight.
			nest(waiter, Objects.requireNonNull(current));
		}
		else if (this.context.isClosed()) {
			fail(waiter, waiter.notAcquired(Reason.SHUTDOWN));
		}
		else if (lostByThread) {
			fail(waiter, EngineExceptions.lostBefore(this.resource));
		}
		else if (waiter.request.waits() && isFull()) {
			fail(waiter, waiter.notAcquired(Reason.TOO_MANY_WAITERS));
		}
		else if (this.queue.isEmpty() && admits(waiter)) {
			contend(waiter).sendAcquire();
		}
		else if (waiter.request.waits() || isComparing()) {
			enqueue(waiter);
		}
		else {
			// Another request is before it; perhaps only because the store is silent.
			timeOut(waiter);
		}
	}

	private boolean hasLost(Waiter waiter, List<Hold> enclosing) {
		for (Hold hold : this.lost) {
			if (hold.isOf(waiter.reentrantThread())) {
				return true;
			}
		}
		for (Hold hold : enclosing) {
			if (hold != this.holder && hold.isRenewed()) {
				return true;
			}
		}
		return false;
	}

	@Override
	boolean admits(Waiter waiter) {
		return this.contending.isEmpty() && this.holder == null;
	}

	@Override
	void onHoldBegun(Hold hold) {
		this.holder = hold;
	}

	@Override
	void onHoldEnded(Hold hold) {
		if (this.holder == hold) {
			this.holder = null;
		}
		if (!this.lost.isEmpty()) {
			this.lost.remove(hold);
		}
	}

	@Override
	@Nullable Waiter nextEligibleWaiter(Hold hold, long now) {
		Waiter head = head();
		return (head != null && admits(head) && canTakeOver(hold, head, now)) ? head : null;
	}

	private boolean canTakeOver(Hold hold, Waiter waiter, long now) {
		return rules().canTakeOver(hold, waiter.request, now);
	}

	@Override
	boolean isHeldBy(Thread thread) {
		Hold current = this.holder;
		return current != null && current.isOf(thread) && current.isHeld(this.context.scheduler.nanoTime());
	}

	@Override
	public void onHoldLost(Hold hold) {
		if (this.holder == hold) {
			this.holder = null;
			if (hold.mustTellThread()) {
				if (this.lost.isEmpty()) {
					this.lost = new ArrayList<>(1);
				}
				this.lost.add(hold);
			}
			else {
				// Perhaps it is never released: the coordinator must not wait for that.
				detach(hold);
			}
			advance();
		}
	}

	private void dropInvalidHolder() {
		Hold hold = this.holder;
		if (hold != null && !hold.isHeld(this.context.scheduler.nanoTime())) {
			renewer().lose(hold, hold.whyExpired(this.context.scheduler.nanoTime()));
			onHoldLost(hold);
		}
	}

}
