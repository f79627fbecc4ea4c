package io.holdfast.engine.queue;

import java.util.HashSet;
import java.util.Set;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator of permits. Waiters contend as they come, so that the store's queue has
 * those of all instances in their order; only so many, though, since each of them asks
 * again now and then. Only the store knows what others hold.
 *
 * <p>
 * With local hand-over, of those that ask for the same only so many contend as could be
 * granted it together, by what is held here; the others follow one by one. At least one
 * contends, so that whatever is free is taken.
 */
public final class PermitCoordinator extends ResourceCoordinator {

	/** How many waiters contend at a time; the others wait here. */
	public static final int MAX_CONTENDERS = 200;

	private final HandOverLimits handOver;

	private final Set<Hold> holds = new HashSet<>();

	/** How many permits they were granted. */
	private long held;

	/**
	 * The number of the last request sent: an ACQUIRE, or a RELEASE that names a waiter.
	 */
	private long lastSent;

	/** The highest number of a request that was answered, or has failed. */
	private long lastAnswered;

	PermitCoordinator(CoordinatorParts parts, Resource resource) {
		super(parts, resource);
		this.handOver = this.context.settings.localHandOver(resource.kind());
	}

	@Override
	void arrive(Waiter waiter) {
		waiter.setLastSentBefore(this.lastSent);
		if (this.context.isClosed()) {
			fail(waiter, waiter.notAcquired(Reason.SHUTDOWN));
		}
		else if (waiter.request.waits() && isFull()) {
			fail(waiter, waiter.notAcquired(Reason.TOO_MANY_WAITERS));
		}
		else if (isFirst(waiter.request) && (!waiter.request.waits() || admits(waiter))) {
			contend(waiter).sendAcquire();
		}
		else if (waiter.request.waits() || isComparing()) {
			enqueue(waiter);
		}
		else {
			// Others wait here already.
			timeOut(waiter);
		}
	}

	/**
	 * Return whether no waiter here comes before a request. None does for an unfair one:
	 * the store alone knows whether it may pass.
	 */
	private boolean isFirst(ResolvedRequest request) {
		return this.queue.isEmpty() || !request.fair() || isRefusedByLimit(request);
	}

	/**
	 * Return whether a request asks for more than there is: it is refused, and need not
	 * wait for that.
	 */
	private static boolean isRefusedByLimit(ResolvedRequest request) {
		return request.isAboveLimit(request.permits());
	}

	/**
	 * Return whether one more may contend. While the first waits for the comparison of
	 * the fleet's versions, the others keep their order behind it.
	 */
	private boolean hasRoomForContender() {
		return this.contending.size() < MAX_CONTENDERS && !isComparing();
	}

	@Override
	boolean admits(Waiter waiter) {
		ResolvedRequest request = waiter.request;
		if (isRefusedByLimit(request)) {
			return true;
		}
		if (!hasRoomForContender()) {
			return false;
		}
		return handsOver(request) ? !needNotContend(request, 0) : mayAskItself(waiter);
	}

	/**
	 * Return whether a request that is handed nothing over may ask by itself. Not while
	 * others of this instance stand in the store's queue before it, which it may not
	 * pass, and the last one here that asked has no answer: until then a release may
	 * bring it in.
	 */
	private boolean mayAskItself(Waiter waiter) {
		boolean behindOthersInStore = !this.contending.isEmpty()
				&& this.contending.get(0).contender().answers().isBusy();
		boolean lastIsAnswered = this.lastAnswered >= waiter.lastSentBefore();
		return !waiter.request.fair() || lastIsAnswered || !behindOthersInStore;
	}

	/**
	 * Return whether such requests hand over to each other here what they were granted.
	 * Any other request has a place of its own in the store, such as an unfair one, which
	 * may pass others there.
	 */
	private boolean handsOver(ResolvedRequest request) {
		return this.handOver.isOn() && request.waits() && request.renewal() && request.fair();
	}

	/**
	 * Return whether a request need not contend: others contend that ask for the same,
	 * and one more could not be granted beside them and what is held.
	 */
	private boolean needNotContend(ResolvedRequest request, int released) {
		long wanted = this.held - released + request.permits();
		boolean follows = false;
		for (Waiter waiter : this.contending) {
			if (waiter.request.isLike(request)) {
				follows = true;
				wanted += request.permits();
			}
		}
		return follows && request.isAboveLimit(wanted);
	}

	/**
	 * Return whether the waiter may contend in place of what is released: no more contend
	 * than before.
	 */
	@Override
	boolean mayFollow(Waiter waiter, int released) {
		ResolvedRequest request = waiter.request;
		return hasRoomForContender() && !(handsOver(request) && needNotContend(request, released));
	}

	@Override
	public long onRequestSent() {
		return ++this.lastSent;
	}

	@Override
	public void onRequestOver(long number) {
		this.lastAnswered = Math.max(this.lastAnswered, number);
		advance();
	}

	@Override
	void onHoldBegun(Hold hold) {
		this.holds.add(hold);
		this.held += hold.request.permits();
	}

	@Override
	void onHoldEnded(Hold hold) {
		discount(hold);
	}

	private void discount(Hold hold) {
		if (this.holds.remove(hold)) {
			this.held -= hold.request.permits();
		}
	}

	@Override
	@Nullable Waiter nextEligibleWaiter(Hold hold, long now) {
		Waiter first = first();
		return (first != null && canTakeOver(hold, first, now)) ? first : null;
	}

	private boolean canTakeOver(Hold hold, Waiter waiter, long now) {
		ResolvedRequest request = waiter.request;
		boolean fits = hold.permits() == request.permits() && hold.request.limit() == request.limit();
		return handsOver(request) && fits && rules().canTakeOver(hold, request, now);
	}

	/** Return the waiter that asked first. */
	private @Nullable Waiter first() {
		for (Waiter waiter : this.contending) {
			if (waiter.request.waits()) {
				return waiter;
			}
		}
		return head();
	}

	@Override
	boolean passesPlaceOn(ResolvedRequest request) {
		return handsOver(request);
	}

	@Override
	public Waiter receiverOfGrant(Waiter waiter) {
		if (handsOver(waiter.request)) {
			for (Waiter first : this.contending) {
				if (first.request.isLike(waiter.request)) {
					return first;
				}
			}
		}
		return waiter;
	}

	@Override
	public void onHoldLost(Hold hold) {
		discount(hold);
		detach(hold);
		advance();
	}

}
