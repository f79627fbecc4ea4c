package io.holdfast.engine.queue;

import java.util.Objects;
import java.util.concurrent.Future;

import io.holdfast.LeaseContext;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.lease.LeaseHandle;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.observe.EngineObserver.HandOver;
import io.holdfast.engine.observe.RequestObservation;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way: in the local queue of its coordinator, then contending in the
 * store, then granted or over.
 *
 * <p>
 * It owns its {@link Contender}, once it contends; the timer of its deadline, once it has
 * stood in the queue; and the handle that it was granted. Confined to the coordinator but
 * for the constructor, {@link RequestWait}, {@link #hasMetOthers} and
 * {@link #numberInStore}.
 */
public final class Waiter extends RequestWait implements ContendingWaiter, Hold.HoldRequester {

	private final WaiterHost coordinator;

	/** The id of the instance when it came, which its token has. */
	final String instanceId;

	/** Which of the requests of that instance it is. */
	final long number;

	/** There once it contends. Changed by the coordinator only. */
	private volatile @Nullable Contender contender;

	/** What it is a part of. */
	private final @Nullable WholeAcquisition whole;

	/** What was granted to it, whether or not its caller is still there. */
	private @Nullable LeaseHandle lease;

	private WaitState state = WaitState.QUEUED;

	private @Nullable Future<?> timer;

	/** Whether it has waited here for others: one failure does not end its wait then. */
	private boolean metOthersHere;

	Waiter(WaiterHost coordinator, String instanceId, long number, ResolvedRequest request, @Nullable Thread thread,
			LeaseContext leaseContext, @Nullable WholeAcquisition whole, @Nullable RequestObservation observation) {
		super(coordinator.context(), request, thread, leaseContext, observation, whole != null,
				(whole != null) ? whole.startedAt() : coordinator.context().scheduler.nanoTime());
		this.coordinator = coordinator;
		this.instanceId = instanceId;
		this.number = number;
		this.whole = whole;
	}

	/** Return its contender, which it has while it contends. */
	Contender contender() {
		return Objects.requireNonNull(this.contender, "does not contend");
	}

	/**
	 * Return by which request's number the store knows it, if it does: by that of another
	 * one whose place it has.
	 */
	public long numberInStore() {
		Contender own = this.contender;
		return (own != null) ? Tokens.number(own.token) : this.number;
	}

	/** Return whether it came while the instance had an id. */
	public boolean isOf(String instance) {
		return this.instanceId.equals(instance);
	}

	@Override
	void giveUp() {
		this.coordinator.execute(() -> this.coordinator.giveUp(this));
	}

	// As the request that a hold is granted to

	@Override
	public Hold.HoldHost coordinator() {
		return this.coordinator;
	}

	/** Note the lease that was opened for it. */
	void setLease(LeaseHandle lease) {
		this.lease = lease;
	}

	@Nullable LeaseHandle lease() {
		return this.lease;
	}

	boolean is(WaitState state) {
		return this.state == state;
	}

	boolean isWaiting() {
		return this.state == WaitState.QUEUED || this.state == WaitState.CONTENDING;
	}

	/** Wait in the local queue. */
	void beginQueueing() {
		tellBegin();
		arm();
	}

	/**
	 * Begin to stand for this instance in the store.
	 * @param own its contender, which has sent nothing yet
	 * @param waited whether it stood in the queue
	 * @param answerCount how many answers of the store have told who has the key
	 */
	void beginContending(Contender own, boolean waited, long answerCount) {
		tellBegin();
		boolean firstAnswerOnly = isBehindFirstQuestion(answerCount);
		this.metOthersHere = waited && !firstAnswerOnly;
		if (firstAnswerOnly) {
			own.answers().setWaitedBefore(waitedNanos());
		}
		this.contender = own;
		this.state = WaitState.CONTENDING;
	}

	/** Contend by the contender of a waiter that is about to end, at its place. */
	void takeOverPlaceOf(Waiter last) {
		Contender place = last.contender();
		last.contender = null;
		last.state = WaitState.OVER;
		this.metOthersHere = true;
		this.state = WaitState.CONTENDING;
		standBy(place);
	}

	/** Each goes on with the other's contender, as both ask for the same. */
	private void swapContenders(Waiter other) {
		if (other != this) {
			Contender own = contender();
			standBy(other.contender());
			other.standBy(own);
		}
	}

	private void standBy(Contender other) {
		this.contender = other;
		other.standFor(this);
	}

	@Override
	public boolean isWorthWaiting(Throwable error) {
		if (!EngineExceptions.isTemporary(error)) {
			return false;
		}
		StoreAnswers answers = contender().answers();
		return answers.isBusy() || this.metOthersHere
				|| this.request.waits() && (EngineExceptions.isWorthWaiting(error) || answers.isPatient());
	}

	// As the waiter of a contender

	@Override
	public boolean isContending() {
		return this.state == WaitState.CONTENDING;
	}

	@Override
	public void onTimedOut() {
		this.coordinator.timeOut(this);
	}

	@Override
	public void onFailure(Throwable error) {
		this.coordinator.failByStore(this, error);
	}

	@Override
	public void onRefused() {
		this.coordinator.refuse(this, this.coordinator.timedOut(this));
	}

	@Override
	public void onLimitExceeded(int limit) {
		this.coordinator.refuse(this, EngineExceptions.exceedsLimit(this.request, limit, waitedNanos()));
	}

	@Override
	public void onGranted(Granted granted, long sentAt, HandOver way, long now) {
		Waiter receiver = this.coordinator.receiverOfGrant(this);
		receiver.swapContenders(this);
		receiver.makeHold(granted, sentAt, way, now);
	}

	private void makeHold(Granted granted, long sentAt, HandOver way, long now) {
		Contender own = contender();
		long doubtSince = own.stop();
		Hold hold = new Hold(this, own.token, doubtSince, granted, sentAt, now);
		if (way != HandOver.ASKED_AGAIN || own.answers().isBusy() || this.metOthersHere) {
			this.context.observers.handedOver(this.coordinator.resource(), way, this.observation);
		}
		this.state = WaitState.GRANTED;
		disarm();
		this.coordinator.beginHold(this, hold, now);
	}

	/** End the wait without a grant. */
	void endUngranted() {
		if (this.state == WaitState.CONTENDING) {
			Contender own = contender();
			if (own.answers().trouble() == null && own.isStoreSilent(this.context.scheduler.nanoTime())) {
				this.context.observers.failed(Command.ACQUIRE);
			}
			own.stop();
		}
		this.state = WaitState.OVER;
		disarm();
	}

	/** Go on with what another one here has released: nothing to ask for. */
	Hold takeOver(Hold before, long now) {
		tellBegin();
		disarm();
		if (this.state == WaitState.CONTENDING) {
			contender().stop();
		}
		this.metOthersHere = true;
		this.state = WaitState.GRANTED;
		this.context.observers.handedOver(this.coordinator.resource(), HandOver.LOCAL, this.observation);
		return new Hold(this, before, now);
	}

	/** Note that it is nested in a hold of the same thread: nothing to ask for. */
	void markNested() {
		this.state = WaitState.GRANTED;
	}

	/**
	 * Return whether others were before it, or before what it is a part of. A waiter that
	 * waited for an answer only has waited for the store. For any thread once granted.
	 */
	public boolean hasMetOthers() {
		Contender own = this.contender;
		return own != null && own.answers().isBusy() || this.metOthersHere
				|| this.whole != null && this.whole.hasMetOthers();
	}

	/** End the wait with a lease, unless it has ended. */
	boolean complete(LeaseHandle lease) {
		return (this.whole == null || this.whole.add(lease)) && succeed(lease);
	}

	@Override
	public long deadline() {
		// A wait may be shorter than any answer takes. Without one, nothing is known.
		boolean awaitsFirst = isContending() ? contender().answers().isAwaitingFirst() : this.coordinator.isComparing();
		return awaitsFirst ? endsAt() : waitEndsAt();
	}

	private long waitEndsAt() {
		return startedAt() + this.request.waitNanos();
	}

	@Override
	public long contenderDueAt(long at) {
		if (this.timer != null || at - waitEndsAt() < 0) {
			return at;
		}
		long deadline = deadline();
		return (at - deadline < 0) ? at : deadline;
	}

	private void arm() {
		this.timer = this.context.scheduler.schedule(this::lookAtTime, deadline() - this.context.scheduler.nanoTime());
	}

	private void disarm() {
		if (this.timer != null) {
			this.timer.cancel(false);
			this.timer = null;
		}
	}

	@Override
	void lookAtTime() {
		this.coordinator.execute(() -> {
			if (isWaiting() && this.context.scheduler.nanoTime() - deadline() >= 0) {
				this.coordinator.timeOut(this);
			}
			else if (isWaiting()) {
				arm();
			}
		});
	}

	enum WaitState {

		QUEUED, CONTENDING, GRANTED, OVER

	}

	/** The coordinator that a waiter waits at. Its methods are called in its events. */
	interface WaiterHost extends ContenderHost, Hold.HoldHost {

		@Override
		EngineContext context();

		@Override
		void execute(Runnable event);

		/** Return the exception for a wait that timed out. */
		RuntimeException timedOut(Waiter waiter);

		/**
		 * Return whether the first contender waits for the comparison of the versions.
		 */
		boolean isComparing();

		/**
		 * Return which waiter is to have what the store grants to the contender of
		 * another one: the first of those that ask for the same.
		 */
		Waiter receiverOfGrant(Waiter waiter);

		/** Begin a hold that the store has granted to a waiter. */
		void beginHold(Waiter waiter, Hold hold, long now);

		/** End a wait, as its caller does not wait any more. */
		void giveUp(Waiter waiter);

		/** End a wait whose time is over. */
		void timeOut(Waiter waiter);

		/** End a wait, and those behind it for which the store has failed as long. */
		void failByStore(Waiter waiter, Throwable error);

		/** End a wait in vain. */
		void fail(Waiter waiter, RuntimeException exception);

		/** End a wait that the store has said no to, and that is not queued there. */
		void refuse(Waiter waiter, RuntimeException exception);

	}

	/** The acquisition that a waiter may be one part of. */
	public interface WholeAcquisition {

		/** Return when the wait for the first part began. */
		long startedAt();

		/** Return whether a part that was granted had to wait for others. */
		boolean hasMetOthers();

		/**
		 * Wait for one more part, which its coordinator does not know of yet: what ends
		 * the whole gives that up before it can be granted anything.
		 */
		void waitFor(Waiter next);

		/**
		 * Add a part that was granted.
		 * @return false if it came too late, and is to be given back
		 */
		boolean add(LeaseHandle lease);

	}

}
