package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.EngineObserver.HandOver;

/**
 * One request on its way: in the local queue of its gate, then contending in the store,
 * then granted or over. All but the constructor and the result is confined to the gate.
 */
final class Waiter implements Acquisition {

	final LeaseEngine engine;

	final EngineContext context;

	final Gate gate;

	final Demand demand;

	/** What the store knows of it, if it contends. Changed by the gate only. */
	volatile Attempt attempt;

	final @Nullable Thread owner;

	/** Under which leases it asks. */
	private final LeaseContext leaseContext;

	/** What it is a part of. */
	private final @Nullable JointAcquisition whole;

	/** Who observes the request that it belongs to, if somebody does. */
	final @Nullable RequestWatch watch;

	private final long startedAt;

	/** The lease, or why there is none. Completed by whoever comes first. */
	final CompletableFuture<HeldLease> result = new CompletableFuture<>();

	/** Completed when its thread is called, if that waits. */
	private volatile @Nullable CompletableFuture<@Nullable Void> turn;

	/** Whether its thread was called: once only. Confined to the gate. */
	private boolean called;

	/** What was granted to it, whether or not its caller is still there. */
	@Nullable HeldLease lease;

	private State state = State.QUEUED;

	private Scheduler.@Nullable Timer timer;

	/**
	 * The number of the last command by which others asked before it came. Confined to
	 * the gate.
	 */
	long behind;

	/** It has waited here before: one failure does not end its wait. */
	private boolean promoted;

	Waiter(LeaseEngine engine, Gate gate, String token, Demand demand, @Nullable Thread owner,
			LeaseContext leaseContext, @Nullable JointAcquisition whole, @Nullable RequestWatch watch) {
		this.engine = engine;
		this.context = engine.context;
		this.gate = gate;
		this.demand = demand;
		this.owner = owner;
		this.leaseContext = leaseContext;
		this.attempt = new Attempt(engine, gate, token, this);
		this.whole = whole;
		this.watch = watch;
		this.startedAt = (whole != null) ? whole.startedAt : engine.context.now();
	}

	// Exceptions for its caller

	NotAcquiredException notAcquired(Reason reason) {
		return notAcquired(reason, null);
	}

	NotAcquiredException notAcquired(Reason reason, @Nullable Throwable cause) {
		return Failures.notAcquired(this.demand, reason, waitedNanos(), cause);
	}

	NotAcquiredException exceedsLimit(int limit) {
		return Failures.exceedsLimit(this.demand, limit, waitedNanos());
	}

	LeaseStoreException storeTrouble(@Nullable Throwable error) {
		return Failures.storeTrouble(this.gate.resource, waitedNanos(), error);
	}

	/** Whether others are waited for besides, so that a grant is not the end of it. */
	boolean isPart() {
		return this.whole != null;
	}

	/** Whose thread asks, if that matters. */
	@Nullable Thread reentrantOwner() {
		return this.demand.reentrant() ? this.owner : null;
	}

	/**
	 * The holds on the key that it asks under: they have open leases in its context.
	 */
	List<Hold> around() {
		if (!this.demand.reentrant() || this.leaseContext.leases().isEmpty()) {
			return List.of();
		}
		return this.leaseContext.leases()
			.stream()
			.flatMap(Waiter::open)
			.filter((hold) -> hold.gate.engine == this.engine && hold.gate.resource.equals(this.gate.resource))
			.distinct()
			.toList();
	}

	private static Stream<Hold> open(Lease lease) {
		return (lease instanceof OpenLease own) ? own.open() : Stream.empty();
	}

	/** Whether it asks under a lease of the same key that is of another kind. */
	boolean isUnder(Resource other) {
		return this.demand.reentrant() && !this.leaseContext.leases().isEmpty()
				&& this.leaseContext.leases()
					.stream()
					.flatMap(Waiter::open)
					.anyMatch((hold) -> hold.gate.engine == this.engine && hold.gate.resource.equals(other)
							&& hold.isHeld(this.context.now()));
	}

	boolean is(State state) {
		return this.state == state;
	}

	boolean isWaiting() {
		return this.state == State.QUEUED || this.state == State.CONTENDING;
	}

	/** Whether its thread waits, which can be called then to come for something. */
	boolean isBlocked() {
		return this.turn != null;
	}

	/**
	 * Call its thread, once the event that runs is over.
	 * @return whether it comes
	 */
	boolean call() {
		CompletableFuture<@Nullable Void> waiting = this.turn;
		if (waiting == null || this.called) {
			return false;
		}
		this.called = true;
		this.gate.later(() -> waiting.complete(null));
		return true;
	}

	/** Wait in the local queue. */
	void queue() {
		observed();
		arm();
	}

	/** It is none that is nested in another. */
	private void observed() {
		RequestWatch observing = this.watch;
		if (observing != null) {
			observing.beginning();
			this.gate.later(observing::begin);
		}
	}

	/** Begin to stand for this instance in the store. */
	void begin(boolean hasWaited) {
		observed();
		this.promoted = hasWaited;
		this.state = State.CONTENDING;
		this.engine.contenders.put(this.attempt.token, this.attempt);
	}

	/**
	 * Contend by the attempt of another one, which need not any more.
	 */
	void succeed(Waiter last) {
		this.promoted = true;
		this.state = State.CONTENDING;
		exchange(last);
	}

	/** Each goes on with the other's attempt, as both ask for the same. */
	void exchange(Waiter other) {
		if (other != this) {
			Attempt own = this.attempt;
			this.attempt = other.attempt;
			other.attempt = own;
			this.attempt.standFor(this);
			own.standFor(other);
		}
	}

	/**
	 * Return whether a failure of the store need not end the wait: others are waited for,
	 * or the store may be there again soon.
	 */
	boolean isWorthWaiting(Throwable error) {
		return Failures.isTemporary(error) && (this.attempt.isBusy() || this.promoted
				|| this.demand.waits() && (Failures.isWorthWaiting(error) || this.attempt.isPatient()));
	}

	void grant(Hold hold, HandOver way) {
		if (way != HandOver.ASKED_AGAIN || this.attempt.isBusy() || this.promoted) {
			this.context.observers.handedOver(this.gate.resource, way);
		}
		this.state = State.GRANTED;
		disarm();
		this.attempt.end();
		this.gate.granted(this, hold);
	}

	/** The wait is over without a grant. */
	void over() {
		if (this.state == State.CONTENDING) {
			if (this.attempt.trouble() == null && this.attempt.isStoreSilent(this.context.now())) {
				this.context.observers.failed(Command.ACQUIRE);
			}
			this.attempt.end();
		}
		this.state = State.OVER;
		disarm();
	}

	/** Go on with what another one here has released: nothing to ask for. */
	Hold inherit(Hold before, long now, HandOver way) {
		observed();
		disarm();
		if (this.state == State.CONTENDING) {
			this.attempt.end();
		}
		this.promoted = true;
		this.state = State.GRANTED;
		this.context.observers.handedOver(this.gate.resource, way);
		return new Hold(this, before, way, now);
	}

	/** Nested in a hold of the same thread: nothing to ask for. */
	void nested() {
		this.state = State.GRANTED;
	}

	/**
	 * Whether others were before it, or before what it is a part of. Whoever has waited
	 * for an answer only has waited for the store.
	 */
	boolean hasMetOthers() {
		return this.attempt.isBusy() || this.promoted || this.whole != null && this.whole.hasMetOthers();
	}

	/** End the wait for whoever asked, unless that has happened. */
	boolean complete(HeldLease lease) {
		return (this.whole == null || this.whole.add(lease)) && RequestWatch.grant(ownWatch(), this.result, lease);
	}

	/** End the wait in vain for whoever asked, unless that has happened. */
	boolean fail(RuntimeException why) {
		return RequestWatch.fail(ownWatch(), this.result, why);
	}

	/** What becomes of a part is not what becomes of the whole. */
	private @Nullable RequestWatch ownWatch() {
		return isPart() ? null : this.watch;
	}

	long waitedNanos() {
		return this.context.now() - this.startedAt;
	}

	// As a user's call sees it

	@Override
	public CompletableFuture<HeldLease> result() {
		return this.result;
	}

	@Override
	public CompletableFuture<?> turn() {
		CompletableFuture<@Nullable Void> waiting = this.turn;
		if (waiting == null) {
			if (this.demand.fair() || this.result.isDone()) {
				return this.result;
			}
			CompletableFuture<@Nullable Void> made = new CompletableFuture<>();
			this.result.whenComplete((lease, error) -> made.complete(null));
			this.turn = made;
			waiting = made;
		}
		return waiting;
	}

	@Override
	public void come() {
		this.gate.execute(() -> this.gate.come(this));
	}

	@Override
	public long leftNanos() {
		return Math.max(this.demand.waitNanos(), EngineContext.FIRST_ANSWER_NANOS) - waitedNanos();
	}

	@Override
	public void interrupt(@Nullable InterruptedException cause) {
		abandon(notAcquired(Reason.INTERRUPTED, cause));
	}

	@Override
	public void overdue() {
		abandon(storeTrouble(null));
	}

	/** End the wait from outside, unless it has ended already. */
	private void abandon(RuntimeException why) {
		if (fail(why)) {
			this.gate.execute(() -> this.gate.giveUp(this));
		}
	}

	/** When whoever asks is to be told that there is none. */
	long deadline() {
		// A wait may be shorter than any answer takes. Without one, nothing is known.
		boolean unheard = this.state == State.CONTENDING && this.attempt.isUnheard();
		long wait = this.demand.waitNanos();
		return this.startedAt + (unheard ? Math.max(wait, EngineContext.FIRST_ANSWER_NANOS) : wait);
	}

	/** Whether it looks at its deadline itself; if not, its attempt has to. */
	boolean isTimed() {
		return this.timer != null;
	}

	private void arm() {
		this.timer = this.context.scheduler.schedule(() -> this.gate.execute(this::due),
				deadline() - this.context.now());
	}

	private void disarm() {
		if (this.timer != null) {
			this.timer.cancel();
			this.timer = null;
		}
	}

	private void due() {
		if (this.state == State.QUEUED || this.state == State.CONTENDING) {
			if (this.context.now() - deadline() >= 0) {
				this.gate.timedOut(this);
			}
			else {
				arm();
			}
		}
	}

	enum State {

		QUEUED, CONTENDING, GRANTED, OVER

	}

}
