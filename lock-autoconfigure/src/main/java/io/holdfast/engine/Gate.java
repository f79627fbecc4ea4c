package io.holdfast.engine;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.ReleaseReply;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * All that happens to one resource inside one instance. Some waiters stand for the
 * instance in the store, the <em>contenders</em>; the others wait here in their order and
 * cost the store nothing. Whenever somebody waits here, there is somebody whose end lets
 * the next one contend.
 *
 * <p>
 * Events run one after the other, so the state needs no lock, commands leave in the order
 * of the decisions behind them, and a reply that is there at once cannot interfere with
 * its own request.
 */
abstract class Gate {

	private static final Log logger = LogFactory.getLog(Gate.class);

	private static final Set<Waiter> NOBODY = Set.of();

	final LeaseEngine engine;

	final EngineContext context;

	final Resource resource;

	/** How many waiters and holds need this gate. Guarded by the engine's map. */
	int users;

	/** Made for the first of them: mostly nobody waits. */
	Set<Waiter> queue = NOBODY;

	/** Few: a list is small. */
	final List<Waiter> contenders = new ArrayList<>(1);

	/** Since when others have it who do not hand it over. Confined to events. */
	private long strangersSince;

	private boolean strangers;

	private boolean warned;

	/** Made when a thread is called for the first time: mostly none is. */
	private @Nullable Barging barging;

	private final Mailbox mailbox;

	Gate(LeaseEngine engine, Resource resource) {
		this.engine = engine;
		this.context = engine.context;
		this.resource = resource;
		this.mailbox = new Mailbox(resource, engine.context.callbacks);
	}

	static Gate of(LeaseEngine engine, Resource resource) {
		return switch (resource.kind()) {
			case LOCK -> new LockGate(engine, resource);
			case READ_WRITE -> new ReadWriteGate(engine, resource);
			case SEMAPHORE -> new PermitGate(engine, resource);
		};
	}

	final void execute(Runnable event) {
		this.mailbox.execute(event);
	}

	// What differs

	/** A request begins. */
	abstract void arrive(Waiter waiter);

	/** Whether a waiter may stand in the store beside those who do already. */
	abstract boolean admits(Waiter waiter);

	/**
	 * Whether one that waits here may stand in the store as from the end of another,
	 * brought in by the same command.
	 * @param waiter the first in line
	 * @param released how many permits were held by the one that ends, which are not
	 * counted any more
	 */
	boolean mayFollow(Waiter waiter, int released) {
		return admits(waiter);
	}

	/**
	 * A command by which somebody here asks is sent.
	 * @return its number
	 */
	long asking() {
		return 0;
	}

	/**
	 * A command by which somebody asked is over.
	 * @param number its number
	 */
	void heard(long number) {
		// It made no difference to who waits here.
	}

	abstract void began(Hold hold);

	abstract void ended(Hold hold);

	/**
	 * Who goes on with what is released here without asking the store, if anybody may.
	 */
	@Nullable Waiter heir(Hold hold, long now) {
		return null;
	}

	/** Whether a waiter may go on with what is over. */
	abstract boolean isFor(Hold hold, Waiter waiter, long now);

	/**
	 * Whether what was released is kept here for whoever asks next, and so is not to be
	 * released in the store yet.
	 */
	boolean keeps(Hold hold, long now) {
		return false;
	}

	/** What is kept or offered here, if anything is, is to be released in the store. */
	void letGo() {
		if (this.barging != null) {
			this.barging.letGo();
		}
	}

	/**
	 * Whether the next one here takes the place in the store's queue of one that gives
	 * up, as others of this instance have no places of their own meanwhile.
	 */
	boolean leavesPlace(Demand demand) {
		return false;
	}

	/**
	 * Who is to have what the store grants to a contender: the first of those that ask
	 * for the same.
	 */
	Waiter firstLike(Waiter contender) {
		return contender;
	}

	/**
	 * Whether a thread has a hold here. May be called by that thread, too.
	 */
	abstract boolean isHeldBy(Thread owner);

	// Events, and what they consist of

	final void contend(Waiter waiter) {
		boolean hasWaited = leaveLine(waiter);
		this.contenders.add(waiter);
		// Before anything names its token: a wake-up may be faster than this thread.
		waiter.begin(hasWaited);
	}

	final void standInLine(Waiter waiter) {
		if (this.queue == NOBODY) {
			this.queue = new LinkedHashSet<>();
		}
		this.queue.add(waiter);
		this.engine.queued.incrementAndGet();
		waiter.queue();
	}

	private boolean leaveLine(Waiter waiter) {
		boolean stood = !this.queue.isEmpty() && this.queue.remove(waiter);
		if (stood) {
			this.engine.queued.decrementAndGet();
		}
		return stood;
	}

	/**
	 * Whether one more may not wait. Each has memory and perhaps a thread, so it is
	 * better to refuse some than to go down with all.
	 */
	final boolean isFull() {
		return this.queue.size() + this.contenders.size() >= this.context.settings.maxWaitersPerKey()
				|| this.engine.waiting() >= this.context.settings.maxWaiters();
	}

	final void nest(Waiter waiter, Hold hold) {
		waiter.nested();
		this.engine.leave(this);
		HeldLease lease = open(waiter, hold);
		this.engine.keeper.changed(hold);
		deliver(waiter, lease);
	}

	final void granted(Waiter waiter, Hold hold) {
		this.contenders.remove(waiter);
		this.strangers = false;
		began(hold);
		HeldLease lease = open(waiter, hold);
		this.engine.keeper.keep(hold);
		this.engine.contenders.remove(waiter.attempt.token);
		deliver(waiter, lease);
		advance();
	}

	final void passOn(Hold hold, Waiter heir, long now, HandOver way) {
		leaveLine(heir);
		boolean isToEnd = this.contenders.remove(heir) && !isSucceeded(heir);
		Hold next = heir.inherit(hold, now, way);
		began(next);
		HeldLease lease = open(heir, next);
		this.engine.keeper.replace(hold, next);
		deliver(heir, lease);
		detach(hold);
		if (isToEnd) {
			Attempt attempt = heir.attempt;
			this.engine.contenders.remove(attempt.token);
			this.engine.releases.release(this.resource, attempt.ask, attempt.doubtSince(), null);
		}
		// Whoever is the first in line now may have to ask by itself.
		advance();
	}

	/** The next one here goes on with what a contender has in the store, if it may. */
	private boolean isSucceeded(Waiter contender) {
		Waiter head = head();
		if (head == null || !head.demand.isLike(contender.demand)) {
			return false;
		}
		leaveLine(head);
		this.contenders.add(head);
		head.succeed(contender);
		return true;
	}

	/** Have something done when the event that runs is over. */
	final void later(Runnable action) {
		this.mailbox.later(action);
	}

	private HeldLease open(Waiter waiter, Hold hold) {
		HeldLease lease = HeldLease.of(waiter, hold);
		hold.open(lease, this.context.now());
		waiter.lease = lease;
		return lease;
	}

	private void deliver(Waiter waiter, HeldLease lease) {
		// To wake up a thread takes longer than all else: others are not to wait for it.
		this.mailbox.later(() -> {
			if (!waiter.complete(lease)) {
				// Its caller has gone meanwhile. Elsewhere, as the next one's may have
				// too.
				this.context.call(lease::discardAsync);
			}
		});
	}

	/**
	 * The store said who is before a waiter. Nobody is told when others let go of it who
	 * do not hand it over; so whoever looks for the cause of long waits is.
	 */
	final void met(Busy busy) {
		long now = this.context.now();
		if (!busy.foreign()) {
			this.strangers = false;
		}
		else if (!this.strangers) {
			this.strangers = true;
			this.strangersSince = now;
		}
		long millis = TimeUnit.NANOSECONDS.toMillis(now - this.strangersSince);
		// Of keys without end the store warns at once.
		if (this.strangers && !this.warned && busy.ownerTtlMillis() >= 0
				&& millis >= this.context.settings.leaseTime().toMillis()) {
			this.warned = true;
			logger.warn("For " + millis + " ms, " + this.resource
					+ " has been held by a client other than Holdfast, or in another mode; "
					+ (this.queue.size() + this.contenders.size()) + " requests wait for it here. It ends in "
					+ busy.ownerTtlMillis()
					+ " ms if it is not renewed; find out who holds it, or release it by force");
		}
	}

	/**
	 * The store said no, and the waiter does not wait.
	 */
	final void refuse(Waiter waiter, RuntimeException exception) {
		tellFailed(waiter, exception);
		if (waiter.attempt.isDoubtful()) {
			// It asked more than once, and may be granted it yet.
			withdraw(waiter, waiter.attempt.isStoreSilent(this.context.now()));
			return;
		}
		// The store has not queued it: there is nothing to release.
		end(waiter);
		advance();
	}

	final void timedOut(Waiter waiter) {
		boolean contends = waiter.is(Waiter.State.CONTENDING) || this.contenders.isEmpty();
		Waiter asking = contends ? waiter : this.contenders.get(0);
		boolean alone = waiter.is(Waiter.State.CONTENDING) && !waiter.hasMetOthers();
		fail(waiter, (alone || asking.attempt.isStoreSilent(this.context.now()))
				? waiter.storeTrouble(asking.attempt.trouble()) : waiter.notAcquired(Reason.TIMED_OUT));
	}

	final void fail(Waiter waiter, RuntimeException exception) {
		tellFailed(waiter, exception);
		giveUp(waiter);
	}

	/**
	 * After the event, as observers may take their time, and to wake up a thread does.
	 */
	private void tellFailed(Waiter waiter, RuntimeException exception) {
		later(() -> waiter.fail(exception));
	}

	/** The waiter's caller has gone, or its wait is over. */
	final void giveUp(Waiter waiter) {
		HeldLease lease = waiter.lease;
		if (waiter.is(Waiter.State.QUEUED)) {
			leaveLine(waiter);
			end(waiter);
			// Others may have waited for no more than to come before it.
			advance();
		}
		else if (waiter.is(Waiter.State.CONTENDING)) {
			Attempt attempt = waiter.attempt;
			boolean silent = attempt.isStoreSilent(this.context.now());
			if (!silent && attempt.isBusy() && leavesPlace(waiter.demand) && isSucceeded(waiter)) {
				end(waiter);
				advance();
			}
			else {
				withdraw(waiter, silent);
			}
		}
		else if (lease != null) {
			// Granted meanwhile. Now, or its thread would enter by it if it asks again.
			lease.discard();
		}
	}

	private void withdraw(Waiter waiter, boolean silent) {
		Attempt attempt = waiter.attempt;
		end(waiter);
		release(attempt.ask, attempt.doubtSince(), 0);
		if (silent) {
			this.contenders.stream()
				.map((next) -> next.attempt)
				.filter(Attempt::isUnheard)
				.forEach((next) -> next.inheritSilence(attempt));
		}
	}

	private void end(Waiter waiter) {
		this.contenders.remove(waiter);
		waiter.over();
		this.engine.contenders.remove(waiter.attempt.token);
		this.engine.leave(this);
	}

	/** End a token in the store, which brings in the next one here, if that may be. */
	private CompletableFuture<ReleaseReply> release(Ask ended, long doubtSince, int released) {
		Waiter head = head();
		Waiter next = (head != null && mayFollow(head, released)) ? head : null;
		if (next != null) {
			contend(next);
		}
		long sentAt = this.context.now();
		CompletableFuture<ReleaseReply> outcome = this.engine.releases.release(this.resource, ended, doubtSince,
				(next != null) ? next.attempt.ask : null);
		if (next != null) {
			outcome = next.attempt.follow(outcome, sentAt);
		}
		advance();
		return outcome;
	}

	/** Let contend whoever may. */
	final void advance() {
		if (this.barging != null) {
			this.barging.see();
		}
		for (Waiter next = promote(); next != null; next = promote()) {
			next.attempt.ask();
		}
	}

	private @Nullable Waiter promote() {
		Waiter head = head();
		if (head == null || !admits(head)) {
			return null;
		}
		contend(head);
		return head;
	}

	final @Nullable Waiter head() {
		return this.queue.isEmpty() ? null : this.queue.iterator().next();
	}

	/** One lease on a hold was released; with the last of them the hold ends. */
	final void release(HeldLease lease, boolean used, CompletableFuture<ReleaseResult> result) {
		Hold hold = lease.hold;
		long now = this.context.now();
		hold.close(lease, now);
		hold.used |= used;
		if (hold.leases > 0) {
			result.complete(hold.isHeld(now) ? ReleaseResult.RELEASED : ReleaseResult.LOST);
			this.engine.keeper.changed(hold);
			return;
		}
		boolean held = hold.release(now);
		if (held) {
			tellEnded(hold, HoldEnd.RELEASED);
		}
		else {
			if (hold.hasRunOut(now)) {
				String what = "what it was taken for took longer than its lease time";
				logger.warn("The lease of " + hold.description() + hold.purpose() + " was over before it was released: "
						+ what);
				this.engine.losses.tell(hold, what);
			}
			this.engine.keeper.lose(hold, hold.whyOver(now));
		}
		ended(hold);
		if (this.engine.releases.isRetained(hold.token)) {
			// A shut-down has ended it, and it is not to be released yet.
			detach(hold);
			result.complete(ReleaseResult.LOST);
			return;
		}
		long kept = hold.keptFor(now);
		if (held && hold.used && kept > 0) {
			this.engine.releases.retain(hold, kept, result);
			this.engine.keeper.forget(hold);
			detach(hold);
			// Who waits here has to wait in the store.
			advance();
			return;
		}
		if (held && handsOn(hold, now)) {
			result.complete(ReleaseResult.RELEASED);
			return;
		}
		if (held && hold.used && !this.context.isClosed() && keeps(hold, now)) {
			result.complete(ReleaseResult.RELEASED);
			return;
		}
		end(hold).whenComplete((reply, error) -> {
			if (error == null) {
				result.complete(held ? this.engine.losses.released(hold, reply) : ReleaseResult.LOST);
			}
			else {
				result.completeExceptionally(Failures.releaseTrouble(this.resource, error));
			}
		});
	}

	/** Tell the observers of its end, once the event that runs is over. */
	final void tellEnded(Hold hold, HoldEnd end) {
		if (hold.watch != null) {
			later(() -> hold.ended(end));
		}
	}

	/** Have somebody here go on with what is over, if anybody may. */
	final boolean handsOn(Hold hold, long now) {
		Waiter heir = this.context.isClosed() ? null : heir(hold, now);
		if (heir != null && !offers(hold, heir, now)) {
			passOn(hold, heir, now, HandOver.LOCAL);
		}
		return heir != null;
	}

	/**
	 * Whether what was released is offered to whoever comes first: the heir, whose thread
	 * is called for it, or another one.
	 */
	private boolean offers(Hold hold, Waiter heir, long now) {
		if (this.barging == null && heir.isBlocked()) {
			this.barging = new Barging(this);
		}
		return this.barging != null && this.barging.offers(hold, heir, now);
	}

	/** Whether one that arrives goes on with what is offered. */
	final boolean goesFirst(Waiter waiter) {
		return this.barging != null && this.barging.goesFirst(waiter, this.context.now());
	}

	/** How many permits are offered, and so are neither held nor free. */
	final int offered() {
		return (this.barging != null) ? this.barging.offered() : 0;
	}

	/** Whose thread is called for what is offered, and has not come yet. */
	final @Nullable Waiter called() {
		return (this.barging != null) ? this.barging.called() : null;
	}

	/** A thread that was called comes for what is offered. */
	final void come(Waiter waiter) {
		if (this.barging != null) {
			this.barging.come(waiter);
		}
	}

	/** End in the store what is over here. */
	final CompletableFuture<ReleaseReply> end(Hold hold) {
		CompletableFuture<ReleaseReply> outcome = release(hold.ask(this.context.now()), hold.doubtSince,
				hold.demand.permits());
		// Not before, as a shut-down goes on when the last hold is forgotten.
		this.engine.keeper.forget(hold);
		detach(hold);
		return outcome;
	}

	/**
	 * Who waits here, for the store's answer or for a turn.
	 * @return completed when events before it have run
	 */
	final CompletableFuture<List<Waiter>> waiters() {
		CompletableFuture<List<Waiter>> answer = new CompletableFuture<>();
		execute(() -> answer.complete(Stream.concat(this.contenders.stream(), this.queue.stream()).toList()));
		return answer;
	}

	/** Others want what a token of this instance holds. */
	final void wanted(String token) {
		Hold hold = this.engine.keeper.find(token);
		if (hold != null) {
			hold.wanted = true;
			letGo();
		}
		Attempt attempt = this.engine.contenders.get(token);
		if (attempt != null) {
			attempt.wanted();
		}
	}

	/** A hold was lost: whoever waits here need not wait for its thread. */
	abstract void lost(Hold hold);

	final void detach(Hold hold) {
		if (hold.attached) {
			hold.attached = false;
			this.engine.leave(this);
		}
	}

	/**
	 * Nothing is granted any more.
	 * @param spared which attempts go on all the same
	 */
	final void close(Predicate<Attempt> spared) {
		List<Waiter> waiters = this.queue.stream().filter((waiter) -> !spared.test(waiter.attempt)).toList();
		waiters.forEach(this::leaveLine);
		waiters.forEach((waiter) -> {
			tellFailed(waiter, waiter.notAcquired(Reason.SHUTDOWN));
			end(waiter);
		});
		for (Waiter contender : List.copyOf(this.contenders)) {
			if (!spared.test(contender.attempt)) {
				fail(contender, contender.notAcquired(Reason.SHUTDOWN));
			}
		}
		// Behind those who wait, whom it would bring in.
		letGo();
	}

}
