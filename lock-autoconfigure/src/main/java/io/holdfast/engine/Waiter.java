package io.holdfast.engine;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.LeaseStore.AcquireReply;
import io.holdfast.engine.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.LeaseStore.Ask;

/**
 * One request on its way: in the local queue of its gate, then contending in the store,
 * then granted or over. All but the constructor and the result is confined to the gate.
 */
final class Waiter implements Acquisition {

	final LeaseEngine engine;

	final Gate gate;

	final String token;

	final Demand demand;

	final @Nullable Thread owner;

	/** Under which leases it asks. */
	private final LeaseContext context;

	/** What it is a part of. */
	private final @Nullable JointAcquisition whole;

	/** Who observes the request that it belongs to, if somebody does. */
	final @Nullable RequestWatch watch;

	/** What it asks the store for. */
	Ask ask;

	private final long startedAt;

	/** The lease, or why there is none. Completed by whoever comes first. */
	final CompletableFuture<HeldLease> result = new CompletableFuture<>();

	private State state = State.QUEUED;

	private Scheduler.@Nullable Timer timer;

	/** Commands that named this token and are not answered, and when they were sent. */
	private final Map<CompletableFuture<?>, Long> unanswered = new LinkedHashMap<>(2);

	/** When the first command that named the token was sent. */
	private long firstSentAt;

	/** When the last request was sent that was answered BUSY. */
	private long busySentAt;

	private boolean busy;

	/** The last fence that a BUSY told; only grants above it are news. */
	private long busyFence;

	private @Nullable Throwable trouble;

	/** The store was silent to the one before, and has said nothing since. */
	private boolean silent;

	private boolean doubtful;

	/** Others want what it has just been granted, as far as the store has told. */
	private boolean wanted;

	/** It has waited here before: one failure does not end its wait. */
	private boolean promoted;

	Waiter(LeaseEngine engine, Gate gate, String token, Demand demand, @Nullable Thread owner, LeaseContext context,
			@Nullable JointAcquisition whole, @Nullable RequestWatch watch) {
		this.engine = engine;
		this.gate = gate;
		this.token = token;
		this.demand = demand;
		this.owner = owner;
		this.context = context;
		this.ask = demand.ask(token, null);
		this.whole = whole;
		this.watch = watch;
		this.startedAt = (whole != null) ? whole.startedAt : engine.now();
	}

	/** Ask beside a token of the same thread that holds all there is. */
	void askUnder(String writer) {
		this.ask = this.demand.ask(this.token, writer);
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
		if (!this.demand.reentrant() || this.context.leases().isEmpty()) {
			return List.of();
		}
		return this.context.leases()
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
		return this.demand.reentrant() && !this.context.leases().isEmpty()
				&& this.context.leases()
					.stream()
					.flatMap(Waiter::open)
					.anyMatch((hold) -> hold.gate.engine == this.engine && hold.gate.resource.equals(other)
							&& hold.isHeld(this.engine.now()));
	}

	boolean is(State state) {
		return this.state == state;
	}

	boolean isDoubtful() {
		return this.doubtful || !this.unanswered.isEmpty();
	}

	/** Wait in the local queue. */
	void queue() {
		observed();
		arm(deadline());
	}

	/** Take the place of one that ends. */
	void follow(CompletableFuture<LeaseStore.ReleaseReply> outcome, long sentAt) {
		// A copy: giving up this wait must not take back the other one's release.
		CompletableFuture<LeaseStore.ReleaseReply> release = outcome.copy();
		sent(release, sentAt);
		release.whenComplete((reply, error) -> this.gate.execute(() -> {
			this.unanswered.remove(release);
			if (error != null) {
				failed(error, sentAt);
			}
			else if (reply.next() != null) {
				answered(reply.next(), sentAt, HandOver.PASSED_ON);
			}
			else if (this.state == State.CONTENDING) {
				ask();
			}
		}));
	}

	/** It is none that is nested in another. */
	private void observed() {
		if (this.watch != null) {
			this.watch.begin();
		}
	}

	/** Begin to stand for this instance in the store. */
	void begin(boolean hasWaited) {
		observed();
		this.promoted = hasWaited;
		this.state = State.CONTENDING;
		this.engine.contenders.put(this.token, this);
	}

	private void sent(CompletableFuture<?> command, long sentAt) {
		if (this.firstSentAt == 0) {
			this.firstSentAt = sentAt;
		}
		this.unanswered.put(command, sentAt);
		arm(sentAt + this.engine.downwards(TimeUnit.MILLISECONDS.toNanos(this.demand.claimMillis()) / 2));
	}

	/**
	 * Send ACQUIRE. Earlier ones without an answer are not given up: whichever is
	 * answered first counts, or a store that is slower than the re-send time would never
	 * be heard.
	 */
	void ask() {
		long sentAt = this.engine.now();
		CompletableFuture<AcquireReply> command = this.engine.send(Command.ACQUIRE,
				() -> this.engine.store.acquire(this.gate.resource, this.ask, this.demand.waits()));
		sent(command, sentAt);
		command.whenComplete((reply, error) -> this.gate.execute(() -> {
			this.unanswered.remove(command);
			if (error != null) {
				failed(error, sentAt);
			}
			else {
				answered(reply, sentAt, HandOver.ASKED_AGAIN);
			}
		}));
	}

	private void answered(AcquireReply reply, long sentAt, HandOver way) {
		// After the wait's end nothing is to be done: its RELEASE was sent after this
		// command.
		if (this.state != State.CONTENDING) {
			return;
		}
		this.trouble = null;
		this.silent = false;
		if (reply instanceof Granted granted) {
			granted(granted, sentAt, way);
		}
		else if (reply instanceof Rejected rejected) {
			this.gate.refuse(this, Failures.exceedsLimit(this, rejected.limit()));
		}
		else {
			busy((Busy) reply, sentAt);
		}
	}

	/** Others want what its token holds, whether or not it knows of its grant. */
	void wanted() {
		this.wanted = true;
	}

	boolean isWanted() {
		return this.wanted;
	}

	private void granted(Granted granted, long sentAt, HandOver way) {
		// Behind one who had to wait others may do so, of whom nobody is told any more.
		this.wanted |= this.busy || way != HandOver.ASKED_AGAIN;
		long now = this.engine.now();
		if (sentAt + Hold.validity(granted.ttlMillis()) - now > 0) {
			grant(new Hold(this, granted, sentAt, now), way);
		}
		else {
			ask();
		}
	}

	private void busy(Busy reply, long sentAt) {
		if (!this.busy || sentAt - this.busySentAt > 0) {
			this.busySentAt = sentAt;
		}
		this.busy = true;
		this.busyFence = Math.max(this.busyFence, reply.fence());
		if (!this.demand.waits()) {
			this.gate.refuse(this, Failures.notAcquired(this, Reason.TIMED_OUT));
			return;
		}
		if (this.engine.isClosed()) {
			// As work in flight it was let through, but whom it asked under is gone.
			this.gate.fail(this, Failures.notAcquired(this, Reason.SHUTDOWN));
			return;
		}
		this.gate.met(reply);
		long delay = this.engine.downwards(TimeUnit.MILLISECONDS.toNanos(this.demand.claimMillis()) / 2);
		if (reply.foreign() || !this.engine.store.isListening()) {
			delay = Math.min(delay, this.engine.retryDelay());
		}
		if (reply.ownerTtlMillis() >= 0) {
			// One more, as the store counts whole milliseconds: it is over by then.
			delay = Math.min(delay, TimeUnit.MILLISECONDS.toNanos(reply.ownerTtlMillis() + 1));
		}
		arm(this.engine.now() + delay);
	}

	private void failed(Throwable error, long sentAt) {
		this.doubtful = true;
		if (this.state != State.CONTENDING || isOld(sentAt)) {
			return;
		}
		this.trouble = error;
		boolean worthWaiting = this.busy || this.promoted || this.demand.waits() && Failures.isWorthWaiting(error);
		if (!worthWaiting || !Failures.isTemporary(error)) {
			this.gate.fail(this, Failures.storeTrouble(this, error));
		}
		else {
			arm(this.engine.now() + this.engine.retryDelay());
		}
	}

	/**
	 * Another script's grant was announced; or, with no time left, that there is none.
	 */
	void handedOver(long fence, long ttlMillis) {
		if (this.state != State.CONTENDING || this.busy && fence <= this.busyFence) {
			return;
		}
		this.wanted = true;
		// The grant came after whatever was answered BUSY, so it lasts from then at
		// least.
		long since = this.busy ? this.busySentAt : this.firstSentAt;
		long now = this.engine.now();
		long left = since + Hold.validity(ttlMillis) - now;
		if (left > TimeUnit.MILLISECONDS.toNanos(ttlMillis) / 3) {
			grant(new Hold(this, new Granted(fence, ttlMillis), since, now), HandOver.WOKEN_UP);
		}
		else {
			ask();
		}
	}

	private void grant(Hold hold, HandOver way) {
		if (way != HandOver.ASKED_AGAIN || this.busy || this.promoted) {
			this.engine.observers.handedOver(this.gate.resource, way);
		}
		this.state = State.GRANTED;
		giveUpCommands();
		this.gate.granted(this, hold);
	}

	/** Wake-ups may have been missed. */
	void listening() {
		if (this.state == State.CONTENDING) {
			ask();
		}
	}

	/** The wait is over without a grant. */
	void over() {
		if (this.state == State.CONTENDING) {
			if (this.trouble == null && isStoreSilent(this.engine.now())) {
				this.engine.observers.failed(Command.ACQUIRE);
			}
			this.doubtful = isDoubtful();
			giveUpCommands();
		}
		this.state = State.OVER;
		disarm();
	}

	/** Go on with what another one here has released: nothing to ask for. */
	Hold inherit(Hold before, long now, HandOver way) {
		observed();
		disarm();
		this.promoted = true;
		this.state = State.GRANTED;
		this.engine.observers.handedOver(this.gate.resource, way);
		return new Hold(this, before, now);
	}

	/** Nested in a hold of the same thread: nothing to ask for. */
	void nested() {
		this.state = State.GRANTED;
	}

	private void giveUpCommands() {
		disarm();
		if (!this.unanswered.isEmpty()) {
			this.doubtful = true;
			// Cancelling completes them, and so takes them out of the list.
			List.copyOf(this.unanswered.keySet()).forEach((command) -> command.cancel(true));
		}
	}

	/**
	 * Whether the store, not another holder, is what this waiter waits for: it failed
	 * last, or has left the last question open for longer than an answer may take.
	 */
	boolean isStoreSilent(long now) {
		if (this.trouble != null || this.silent) {
			return true;
		}
		long wait = Math.max(this.demand.waitNanos(), LeaseEngine.FIRST_ANSWER_NANOS);
		long patience = Math.min(this.engine.commandTimeoutNanos(), wait) / 2;
		return this.unanswered.values().stream().anyMatch((sentAt) -> !isOld(sentAt) && now - sentAt > patience);
	}

	/**
	 * Whether a later question was answered: what becomes of this one tells nothing of
	 * the store.
	 */
	private boolean isOld(long sentAt) {
		return this.busy && sentAt - this.busySentAt < 0;
	}

	/** Whether the store has not said anything to it yet. */
	boolean isUnheard() {
		return !this.busy && this.trouble == null;
	}

	/**
	 * Whether others were before it, or before what it is a part of. Whoever has waited
	 * for an answer only has waited for the store.
	 */
	boolean hasMetOthers() {
		return this.busy || this.promoted || this.whole != null && this.whole.hasMetOthers();
	}

	/**
	 * Take the place of one that the store was silent to. Those whose wait ends before it
	 * speaks again have waited for the store too, however short this one has asked.
	 */
	void inheritSilence(Waiter last) {
		this.silent = true;
		this.trouble = last.trouble;
	}

	@Nullable Throwable trouble() {
		return this.trouble;
	}

	/** End the wait for whoever asked, unless that has happened. */
	boolean complete(HeldLease lease) {
		return RequestWatch.grant(ownWatch(), this.result, lease);
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
		return this.engine.now() - this.startedAt;
	}

	// As a user's call sees it

	@Override
	public CompletableFuture<HeldLease> result() {
		return this.result;
	}

	@Override
	public long leftNanos() {
		return Math.max(this.demand.waitNanos(), LeaseEngine.FIRST_ANSWER_NANOS) - waitedNanos();
	}

	@Override
	public void interrupt(@Nullable InterruptedException cause) {
		abandon(Failures.notAcquired(this, Reason.INTERRUPTED, cause));
	}

	@Override
	public void overdue() {
		abandon(Failures.storeTrouble(this, null));
	}

	/** End the wait from outside, unless it has ended already. */
	private void abandon(RuntimeException why) {
		if (fail(why)) {
			this.gate.execute(() -> this.gate.giveUp(this));
		}
	}

	private long deadline() {
		// A wait may be shorter than any answer takes. Without one, nothing is known.
		boolean unheard = this.state == State.CONTENDING && isUnheard();
		long wait = this.demand.waitNanos();
		return this.startedAt + (unheard ? Math.max(wait, LeaseEngine.FIRST_ANSWER_NANOS) : wait);
	}

	private void arm(long at) {
		disarm();
		long deadline = deadline();
		long due = (at - deadline < 0) ? at : deadline;
		this.timer = this.engine.scheduler.schedule(() -> this.gate.execute(this::due), due - this.engine.now());
	}

	private void disarm() {
		if (this.timer != null) {
			this.timer.cancel();
			this.timer = null;
		}
	}

	private void due() {
		if (this.state == State.QUEUED || this.state == State.CONTENDING) {
			if (this.engine.now() - deadline() >= 0) {
				this.gate.timedOut(this);
			}
			else if (this.state == State.CONTENDING) {
				ask();
			}
		}
	}

	enum State {

		QUEUED, CONTENDING, GRANTED, OVER

	}

}
