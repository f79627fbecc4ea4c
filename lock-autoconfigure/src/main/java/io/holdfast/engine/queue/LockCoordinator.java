package io.holdfast.engine.queue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator of a lock. Of the requests for {@code EXCLUSIVE} one at a time
 * contends; granted, its hold is the <em>holder</em>. Whenever one of them waits here,
 * there is such a contender, a valid holder, or a request before it that reads. Readers
 * contend as they come, so that the store lets them in together, in the order of all
 * instances.
 */
final class LockCoordinator extends ResourceCoordinator {

	/** How many readers contend at a time; the others wait here. */
	private static final int MAX_CONTENDERS = PermitCoordinator.MAX_CONTENDERS;

	/** The exclusive hold. */
	private @Nullable Hold holder;

	/** The holds of readers, by thread. */
	private Map<Thread, List<Hold>> readers = Map.of();

	/** Lost, but not released yet by their holders. Mostly none is. */
	private List<Hold> lost = List.of();

	LockCoordinator(CoordinatorParts parts, Resource resource) {
		super(parts, resource);
	}

	@Override
	boolean isHeldHere() {
		return this.holder != null;
	}

	@Override
	void arrive(Waiter waiter) {
		List<Hold> enclosing = waiter.enclosingHolds();
		boolean anyHold = isInUse() || !enclosing.isEmpty();
		// One look: a hold that ends from here on has not ended yet.
		long now = anyHold ? this.context.scheduler.nanoTime() : 0;
		Thread thread = anyHold ? waiter.thread : null;
		dropInvalidHolds(thread, now);
		Hold own = ownHold(thread, enclosing, now);
		boolean reentrant = waiter.request.reentrant();
		boolean lostByThread = reentrant && hasLost(thread, enclosing, now);
		if (reentrant && own != null && !lostByThread && (own == this.holder || waiter.request.reads())) {
			// Also during a shut-down: it is part of the work in flight.
			nest(waiter, own);
		}
		else if (this.context.isClosed()) {
			fail(waiter, waiter.notAcquired(Reason.SHUTDOWN));
		}
		else if (lostByThread) {
			fail(waiter, EngineExceptions.lostBefore(this.resource));
		}
		else if (own != null && (reentrant || wouldWaitForItself(waiter, own))) {
			fail(waiter, waiter.notAcquired(Reason.SELF_BLOCKED));
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

	private boolean isInUse() {
		return this.holder != null || !this.readers.isEmpty() || !this.lost.isEmpty();
	}

	/** Return the valid hold that a request may be nested in, if its mode allows that. */
	private @Nullable Hold ownHold(@Nullable Thread thread, List<Hold> enclosing, long now) {
		Hold current = this.holder;
		if (current != null && (current.isOf(thread) || enclosing.contains(current))) {
			return current;
		}
		for (Hold hold : readersOf(thread)) {
			if (hold.isOf(thread)) {
				return hold;
			}
		}
		for (Hold hold : enclosing) {
			if (hold.request.reads() && hold.isHeld(now)) {
				return hold;
			}
		}
		return null;
	}

	private boolean wouldWaitForItself(Waiter waiter, Hold own) {
		return waiter.request.waits() && (own == this.holder || !waiter.request.reads());
	}

	private boolean hasLost(@Nullable Thread thread, List<Hold> enclosing, long now) {
		for (Hold hold : this.lost) {
			if (hold.isOf(thread)) {
				return true;
			}
		}
		for (Hold hold : enclosing) {
			if (!hold.isHeld(now) && hold.isRenewed()) {
				return true;
			}
		}
		return false;
	}

	private List<Hold> readersOf(@Nullable Thread thread) {
		return (thread != null) ? this.readers.getOrDefault(thread, List.of()) : List.of();
	}

	@Override
	boolean admits(Waiter waiter) {
		if (this.holder == null && this.contending.isEmpty()) {
			return true;
		}
		if (waiter.request.reads()) {
			return this.contending.size() < MAX_CONTENDERS && (waiter.request.waits() || this.holder == null);
		}
		if (this.holder != null) {
			return false;
		}
		for (Waiter contending : this.contending) {
			if (!contending.request.reads()) {
				return false;
			}
		}
		return true;
	}

	@Override
	void onHoldBegun(Hold hold) {
		if (!hold.request.reads()) {
			this.holder = hold;
		}
		else if (hold.thread != null) {
			if (this.readers.isEmpty()) {
				this.readers = new HashMap<>();
			}
			this.readers.computeIfAbsent(hold.thread, (thread) -> new ArrayList<>(1)).add(hold);
		}
	}

	@Override
	void onHoldEnded(Hold hold) {
		forget(hold);
		if (!this.lost.isEmpty()) {
			this.lost.remove(hold);
		}
	}

	/** Forget holds that have ended. */
	private void forget(Hold hold) {
		if (this.holder == hold) {
			this.holder = null;
		}
		else if (hold.thread != null && !this.readers.isEmpty()) {
			this.readers.computeIfPresent(hold.thread, (thread, own) -> {
				own.remove(hold);
				return own.isEmpty() ? null : own;
			});
		}
	}

	/**
	 * Return the next one only if no reader of this instance waits before it in the
	 * store.
	 */
	@Override
	@Nullable Waiter nextEligibleWaiter(Hold hold, long now) {
		Waiter head = head();
		if (head == null || hold.request.reads() || head.request.reads() || !isNoneBefore()) {
			return null;
		}
		return canTakeOver(hold, head, now) ? head : null;
	}

	private boolean isNoneBefore() {
		for (Waiter waiter : this.contending) {
			if (waiter.request.waits() || !waiter.request.reads()) {
				return false;
			}
		}
		return true;
	}

	private boolean canTakeOver(Hold hold, Waiter waiter, long now) {
		return rules().canTakeOver(hold, waiter.request, now);
	}

	@Override
	public void onHoldLost(Hold hold) {
		forget(hold);
		if (hold.mustTellThread()) {
			if (this.lost.isEmpty()) {
				this.lost = new ArrayList<>(1);
			}
			if (!this.lost.contains(hold)) {
				this.lost.add(hold);
			}
		}
		else {
			// Perhaps it is never released: the coordinator must not wait for that.
			detach(hold);
		}
		advance();
	}

	private void dropInvalidHolds(@Nullable Thread thread, long now) {
		Hold current = this.holder;
		if (current != null) {
			dropIfInvalid(current, now);
		}
		for (Hold hold : List.copyOf(readersOf(thread))) {
			dropIfInvalid(hold, now);
		}
	}

	private void dropIfInvalid(Hold hold, long now) {
		if (!hold.isHeld(now)) {
			renewer().lose(hold, hold.whyExpired(now));
			onHoldLost(hold);
		}
	}

}
