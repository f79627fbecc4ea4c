package io.holdfast.engine.queue;

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
import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.context.SerialExecutor;
import io.holdfast.engine.handover.HandOverRules;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.lease.HoldLosses;
import io.holdfast.engine.lease.LeaseHandle;
import io.holdfast.engine.lease.LeaseRenewer;
import io.holdfast.engine.lease.LeaseTerms;
import io.holdfast.engine.observe.EngineObserver.HandOver;
import io.holdfast.engine.observe.EngineObserver.HoldEnd;
import io.holdfast.engine.release.TokenReleases;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Serializes all that happens to one resource in this instance: which request waits,
 * which one contends in the store, which one holds.
 *
 * <p>
 * <b>Events.</b> A request that arrives, an answer of the store, a timer, a release: each
 * is an event, and events run one after the other. So the state needs no lock, commands
 * leave in the order of the decisions behind them, and an answer that is there at once
 * cannot interfere with its own command. What may take its time, such as waking a thread
 * or calling an observer, is put off until the event is over ({@link #later}).
 *
 * <p>
 * <b>Waiting.</b> A request that has to wait is a {@link Waiter}. It stands in the
 * <em>queue</em> of this instance, which costs the store nothing, until it may contend.
 *
 * <p>
 * <b>Contending.</b> A contender stands for the instance in the store, by an
 * {@link Contender}: a token, and the commands that name it. How many may contend at a
 * time differs: one for an exclusive lock, as many as could be granted together for
 * permits ({@link #admits}). The contender asks again until it is answered, so lost
 * messages cost time only. A contender that ends lets the next waiter of the queue
 * contend ({@link #advance}): whenever a request waits here, there is one whose end lets
 * it contend.
 *
 * <p>
 * <b>Holding.</b> A grant makes a {@link Hold} of a contender. It may come as the answer
 * to its own ACQUIRE, as the answer to the RELEASE that brought it in, or as a grant
 * notification. The hold is renewed by the {@link LeaseRenewer} from then on, and the
 * user gets a {@link LeaseHandle} on it. A request of the same thread, or under the same
 * lease, is {@link #nest nested}: it gets one more handle on the same hold. If the hold
 * is lost, the waiters need not wait for its thread.
 *
 * <p>
 * <b>Handing over.</b> With the last handle the hold ends, and {@link HandOverRules}
 * decide what becomes of it. The next waiter of this instance takes it over, without a
 * command and with the next fencing token; while its thread wakes up, requests that are
 * not fair may barge ({@link Barging}). Or it is kept warm for a request that may come.
 * Or it goes back to the store, by a RELEASE that brings in the next waiter with the same
 * command. A turn of the instance is limited, so that others have theirs.
 *
 * <p>
 * <b>Lifetime.</b> A coordinator is there for as long as a waiter or a hold needs it; the
 * {@link CoordinatorRegistry} makes and forgets it. Only {@link #execute},
 * {@link #waiters} and {@link #isHeldBy} may be called from outside of its events.
 */
public abstract class ResourceCoordinator implements Waiter.WaiterHost, BargingHost {

	private static final Log logger = LogFactory.getLog(ResourceCoordinator.class);

	private static final Set<Waiter> NO_WAITERS = Set.of();

	final EngineContext context;

	private final Parts parts;

	final Resource resource;

	/** How many waiters and holds need this coordinator. Guarded by the engine's map. */
	int users;

	/** Made for the first waiter: mostly there is none. */
	Set<Waiter> queue = NO_WAITERS;

	/** Few: a list is small. */
	final List<Waiter> contending = new ArrayList<>(1);

	/** Since when others have it who do not hand it over. Confined to events. */
	private long strangersSince;

	private boolean strangers;

	private boolean warned;

	/** Made when a thread is called for the first time: mostly none is. */
	private @Nullable Barging barging;

	private final SerialExecutor events;

	ResourceCoordinator(Parts parts, Resource resource) {
		this.context = parts.context();
		this.parts = parts;
		this.resource = resource;
		this.events = new SerialExecutor(resource, this.context.callbacks);
	}

	@Override
	public final Resource resource() {
		return this.resource;
	}

	@Override
	public final EngineContext context() {
		return this.context;
	}

	@Override
	public final void execute(Runnable event) {
		this.events.execute(event);
	}

	// What differs

	/** A request begins. */
	abstract void arrive(Waiter waiter);

	/** Return whether a waiter may stand in the store beside those who do already. */
	abstract boolean admits(Waiter waiter);

	/**
	 * Return whether one that waits here may stand in the store as from the end of
	 * another, brought in by the same command.
	 * @param waiter the first in line
	 * @param released how many permits were held by the one that ends, which are not
	 * counted any more
	 */
	boolean mayFollow(Waiter waiter, int released) {
		return admits(waiter);
	}

	@Override
	public long onRequestSent() {
		return 0;
	}

	@Override
	public void onReply(long number) {
		// It made no difference to who waits here.
	}

	abstract void began(Hold hold);

	abstract void ended(Hold hold);

	/**
	 * Return the waiter that can take over a released hold without asking the store, or
	 * {@code null}.
	 */
	abstract @Nullable Waiter nextEligibleWaiter(Hold hold, long now);

	/** Note that a released hold goes to a waiter here. */
	void onHandOver(Hold hold, Waiter next, long now) {
		// It makes no difference.
	}

	/** Return whether a released hold is kept here for a request that may come. */
	boolean canKeepWarm(Hold hold, long now) {
		return false;
	}

	/** Keep a released hold, which is not released in the store yet. */
	void keepWarm(Hold hold, long now) {
		throw new IllegalStateException("not kept");
	}

	@Override
	public void releaseKept() {
		if (this.barging != null) {
			this.barging.releaseOffered();
		}
	}

	/**
	 * Return whether the next one here takes the place in the store's queue of one that
	 * gives up, as others of this instance have no places of their own.
	 */
	boolean leavesPlace(ResolvedRequest request) {
		return false;
	}

	@Override
	public Waiter firstLike(Waiter waiter) {
		return waiter;
	}

	/**
	 * Return whether a thread has a hold here. May be called by that thread, too.
	 */
	abstract boolean isHeldBy(Thread owner);

	// Events, and what they consist of

	final void contend(Waiter waiter) {
		boolean hasWaited = leaveLine(waiter);
		this.contending.add(waiter);
		// Before anything names its token: a wake-up may be faster than this thread.
		waiter.begin(hasWaited);
		this.parts.registry().contends(waiter.contender());
	}

	final void standInLine(Waiter waiter) {
		if (this.queue == NO_WAITERS) {
			this.queue = new LinkedHashSet<>();
		}
		this.queue.add(waiter);
		this.parts.registry().queued(1);
		waiter.queue();
	}

	private boolean leaveLine(Waiter waiter) {
		boolean stood = !this.queue.isEmpty() && this.queue.remove(waiter);
		if (stood) {
			this.parts.registry().queued(-1);
		}
		return stood;
	}

	/**
	 * Return whether one more may not wait. Each has memory and perhaps a thread, so it
	 * is better to refuse some than to go down with all.
	 */
	final boolean isFull() {
		return this.queue.size() + this.contending.size() >= this.context.settings.maxWaitersPerKey()
				|| this.parts.registry().waiting() >= this.context.settings.maxWaiters();
	}

	final void nest(Waiter waiter, Hold hold) {
		waiter.nested();
		this.parts.registry().leave(this);
		LeaseHandle lease = open(waiter, hold);
		renewer().changed(hold);
		deliver(waiter, lease);
	}

	@Override
	public final void granted(Waiter waiter, Hold hold) {
		this.contending.remove(waiter);
		this.strangers = false;
		began(hold);
		LeaseHandle lease = open(waiter, hold);
		renewer().keep(hold);
		this.parts.registry().contendsNoMore(waiter.contender().token);
		deliver(waiter, lease);
		advance();
	}

	@Override
	public final void handOver(Hold hold, Waiter heir, long now, HandOver way) {
		leaveLine(heir);
		boolean isToEnd = this.contending.remove(heir) && !tryPassPlace(heir);
		Hold next = heir.inherit(hold, now, way);
		began(next);
		LeaseHandle lease = open(heir, next);
		renewer().replace(hold, next);
		deliver(heir, lease);
		detach(hold);
		if (isToEnd) {
			Contender contender = heir.contender();
			this.parts.registry().contendsNoMore(contender.token);
			this.parts.releases().release(this.resource, contender.command, contender.doubtSince(), null);
		}
		// The waiter that is the first in line now may have to ask by itself.
		advance();
	}

	/**
	 * Pass the place of a contender in the store to the next waiter here, if it asks
	 * alike.
	 */
	private boolean tryPassPlace(Waiter leaving) {
		Waiter head = head();
		if (head == null || !head.request.isLike(leaving.request)) {
			return false;
		}
		leaveLine(head);
		this.contending.add(head);
		head.succeed(leaving);
		return true;
	}

	@Override
	public final void later(Runnable action) {
		this.events.later(action);
	}

	private LeaseHandle open(Waiter waiter, Hold hold) {
		LeaseHandle lease = LeaseHandle.of(hold, waiter, renewer());
		hold.open(lease, this.context.now());
		waiter.opened(lease);
		return lease;
	}

	private void deliver(Waiter waiter, LeaseHandle lease) {
		// To wake up a thread takes longer than all else: others are not to wait for it.
		this.events.later(() -> {
			if (!waiter.complete(lease)) {
				// Its caller has cancelled. On another thread: the next caller may have
				// cancelled too, and releasing here would recurse.
				this.context.call(lease::discardAsync);
			}
		});
	}

	/**
	 * Warn, once, if holders that hand nothing over have had the resource for longer than
	 * a lease time: nothing tells a waiter when they release it.
	 */
	@Override
	public final void onBusy(Busy busy) {
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
					+ (this.queue.size() + this.contending.size()) + " requests wait for it here. It ends in "
					+ busy.ownerTtlMillis()
					+ " ms if it is not renewed; find out who holds it, or release it by force");
		}
	}

	@Override
	public final void refuse(Waiter waiter, RuntimeException exception) {
		tellFailed(waiter, exception);
		if (waiter.contender().isDoubtful()) {
			// It asked more than once, and may be granted it yet.
			withdraw(waiter, waiter.contender().isStoreSilent(this.context.now()));
			return;
		}
		// The store has not queued it: there is nothing to release.
		end(waiter);
		advance();
	}

	@Override
	public final void timedOut(Waiter waiter) {
		boolean contends = waiter.is(Waiter.WaitState.CONTENDING) || this.contending.isEmpty();
		Waiter asking = contends ? waiter : this.contending.get(0);
		boolean alone = waiter.is(Waiter.WaitState.CONTENDING) && !waiter.hasMetOthers();
		fail(waiter, (alone || asking.contender().isStoreSilent(this.context.now()))
				? waiter.storeTrouble(asking.contender().trouble()) : waiter.notAcquired(Reason.TIMED_OUT));
	}

	@Override
	public final void fail(Waiter waiter, RuntimeException exception) {
		tellFailed(waiter, exception);
		giveUp(waiter);
	}

	/**
	 * After the event, as observers may take their time, and to wake up a thread does.
	 */
	private void tellFailed(Waiter waiter, RuntimeException exception) {
		later(() -> waiter.fail(exception));
	}

	@Override
	public final void giveUp(Waiter waiter) {
		LeaseHandle lease = waiter.lease();
		if (waiter.is(Waiter.WaitState.QUEUED)) {
			leaveLine(waiter);
			end(waiter);
			// Others may have waited for no more than to come before it.
			advance();
		}
		else if (waiter.is(Waiter.WaitState.CONTENDING)) {
			Contender contender = waiter.contender();
			boolean silent = contender.isStoreSilent(this.context.now());
			if (!silent && contender.isBusy() && leavesPlace(waiter.request) && tryPassPlace(waiter)) {
				end(waiter);
				advance();
			}
			else {
				withdraw(waiter, silent);
			}
		}
		else if (lease != null) {
			// It was granted. Now, or its thread would enter by it if it asks again.
			lease.discard();
		}
	}

	private void withdraw(Waiter waiter, boolean silent) {
		Contender contender = waiter.contender();
		end(waiter);
		release(contender.command, contender.doubtSince(), 0);
		if (silent) {
			this.contending.stream()
				.map((next) -> next.contender())
				.filter(Contender::isUnheard)
				.forEach((next) -> next.inheritSilence(contender));
		}
	}

	private void end(Waiter waiter) {
		this.contending.remove(waiter);
		waiter.over();
		this.parts.registry().contendsNoMore(waiter.contender().token);
		this.parts.registry().leave(this);
	}

	/** End a token in the store, which brings in the next one here, if that may be. */
	private CompletableFuture<ReleaseReply> release(AcquireCommand ended, long doubtSince, int released) {
		Waiter head = head();
		Waiter next = (head != null && mayFollow(head, released)) ? head : null;
		if (next != null) {
			contend(next);
		}
		long sentAt = this.context.now();
		CompletableFuture<ReleaseReply> outcome = this.parts.releases()
			.release(this.resource, ended, doubtSince, (next != null) ? next.contender().command : null);
		if (next != null) {
			outcome = next.contender().follow(outcome, sentAt);
		}
		advance();
		return outcome;
	}

	/** Let the waiters contend that may. */
	final void advance() {
		if (this.barging != null) {
			this.barging.discardIfWaiterGone();
		}
		for (Waiter next = promote(); next != null; next = promote()) {
			next.contender().sendAcquire();
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

	@Override
	public final void release(Hold hold, LeaseTerms handle, boolean used, CompletableFuture<ReleaseResult> result) {
		long now = this.context.now();
		hold.close(handle, used, now);
		if (hold.leases.count() > 0) {
			result.complete(hold.isHeld(now) ? ReleaseResult.RELEASED : ReleaseResult.LOST);
			renewer().changed(hold);
			return;
		}
		boolean held = hold.release(now);
		if (held) {
			hold.tellEnded(HoldEnd.RELEASED);
		}
		else {
			if (hold.hasRunOut(now)) {
				this.parts.losses().ranOut(hold);
			}
			renewer().lose(hold, hold.whyOver(now));
		}
		ended(hold);
		switch (afterRelease(hold, held, now)) {
			case LEFT_TO_SHUT_DOWN -> {
				detach(hold);
				result.complete(ReleaseResult.LOST);
			}
			case MIN_HOLD -> {
				this.parts.releases().retain(hold, hold.keptFor(now), result);
				renewer().forget(hold);
				detach(hold);
				// Waiters here have to wait in the store.
				advance();
			}
			case HAND_OVER -> {
				tryHandOver(hold, now);
				result.complete(ReleaseResult.RELEASED);
			}
			case KEEP_WARM -> {
				keepWarm(hold, now);
				result.complete(ReleaseResult.RELEASED);
			}
			case RELEASE -> end(hold).whenComplete((reply, error) -> {
				if (error == null) {
					result.complete(held ? this.parts.losses().released(hold, reply) : ReleaseResult.LOST);
				}
				else {
					result.completeExceptionally(EngineExceptions.releaseTrouble(this.resource, error));
				}
			});
		}
	}

	private AfterRelease afterRelease(Hold hold, boolean held, long now) {
		if (this.parts.releases().isRetained(hold.token)) {
			return AfterRelease.LEFT_TO_SHUT_DOWN;
		}
		if (!held) {
			return AfterRelease.RELEASE;
		}
		if (hold.isUsed() && hold.keptFor(now) > 0) {
			return AfterRelease.MIN_HOLD;
		}
		if (this.context.isClosed()) {
			return AfterRelease.RELEASE;
		}
		if (nextEligibleWaiter(hold, now) != null) {
			return AfterRelease.HAND_OVER;
		}
		return (hold.isUsed() && canKeepWarm(hold, now)) ? AfterRelease.KEEP_WARM : AfterRelease.RELEASE;
	}

	@Override
	public final boolean tryHandOver(Hold hold, long now) {
		Waiter next = this.context.isClosed() ? null : nextEligibleWaiter(hold, now);
		if (next == null) {
			return false;
		}
		onHandOver(hold, next, now);
		if (!tryOffer(hold, next, now)) {
			handOver(hold, next, now, HandOver.LOCAL);
		}
		return true;
	}

	/**
	 * Offer a released hold to the request that comes first: the next waiter, whose
	 * thread is called for it, or another one.
	 */
	private boolean tryOffer(Hold hold, Waiter next, long now) {
		if (this.barging == null && next.isBlocked()) {
			this.barging = new Barging(this);
		}
		return this.barging != null && this.barging.tryOffer(hold, next, now);
	}

	/** Return the rules for released holds. */
	final HandOverRules rules() {
		return this.parts.rules();
	}

	/** Return what renews the holds. */
	final LeaseRenewer renewer() {
		return this.parts.renewer();
	}

	/** Let a request that arrives take what is offered, if it may barge. */
	final boolean tryBarge(Waiter waiter) {
		return this.barging != null && this.barging.tryBarge(waiter, this.context.now());
	}

	/** Return how many permits are offered, and so are neither held nor free. */
	final int offered() {
		return (this.barging != null) ? this.barging.offered() : 0;
	}

	/**
	 * Return the waiter whose thread is called for what is offered, and has not come yet.
	 */
	final @Nullable Waiter called() {
		return (this.barging != null) ? this.barging.called() : null;
	}

	@Override
	public final void claimOffer(Waiter waiter) {
		if (this.barging != null) {
			this.barging.claimOffer(waiter);
		}
	}

	@Override
	public final CompletableFuture<ReleaseReply> end(Hold hold) {
		CompletableFuture<ReleaseReply> outcome = release(hold.toCommand(this.context.now()), hold.doubtSince,
				hold.request.permits());
		// Not before, as a shut-down goes on when the last hold is forgotten.
		renewer().forget(hold);
		detach(hold);
		return outcome;
	}

	/**
	 * Return the waiters here, for the store's answer or for a turn.
	 * @return completed when events before it have run
	 */
	final CompletableFuture<List<Waiter>> waiters() {
		CompletableFuture<List<Waiter>> answer = new CompletableFuture<>();
		execute(() -> answer.complete(Stream.concat(this.contending.stream(), this.queue.stream()).toList()));
		return answer;
	}

	/** Others want what a token of this instance holds. */
	public final void wanted(String token) {
		Hold hold = renewer().find(token);
		if (hold != null) {
			hold.onWanted();
			releaseKept();
		}
		Contender contender = this.parts.registry().contender(token);
		if (contender != null) {
			contender.wanted();
		}
	}

	@Override
	public final void releaseIfOver(AcquireCommand ended) {
		this.parts.releases().releaseIfOver(this.resource, ended);
	}

	final void detach(Hold hold) {
		if (hold.detach()) {
			this.parts.registry().leave(this);
		}
	}

	/**
	 * Nothing is granted any more.
	 * @param spared which contenders go on all the same
	 */
	public final void close(Predicate<Contender> spared) {
		List<Waiter> waiters = this.queue.stream().filter((waiter) -> !spared.test(waiter.contender())).toList();
		waiters.forEach(this::leaveLine);
		waiters.forEach((waiter) -> {
			tellFailed(waiter, waiter.notAcquired(Reason.SHUTDOWN));
			end(waiter);
		});
		for (Waiter waiter : List.copyOf(this.contending)) {
			if (!spared.test(waiter.contender())) {
				fail(waiter, waiter.notAcquired(Reason.SHUTDOWN));
			}
		}
		// Behind those who wait, whom it would bring in.
		releaseKept();
	}

	/** The decision on a hold whose last lease was released. */
	private enum AfterRelease {

		/** A shut-down has ended it, and it is not to be released yet. */
		LEFT_TO_SHUT_DOWN,

		/** It keeps others out until its least time is over. */
		MIN_HOLD,

		/** The next waiter here goes on with it, or one that barges. */
		HAND_OVER,

		/** It stays here for a request that may come. */
		KEEP_WARM,

		/** It goes back to the store, which brings in the next waiter. */
		RELEASE

	}

	/**
	 * The parts of an instance that its coordinators share.
	 *
	 * @param context the surroundings of the instance
	 * @param losses reports lost holds
	 * @param renewer renews what is held
	 * @param releases ends tokens in the store
	 * @param registry keeps account of coordinators and waiters
	 * @param rules decide which released holds stay in the instance
	 */
	record Parts(EngineContext context, HoldLosses losses, LeaseRenewer renewer, TokenReleases releases,
			Registry registry, HandOverRules rules) {
	}

	/** Keeps account of the coordinators of an instance, and of what waits at them. */
	interface Registry {

		/** Return what contends by a token, or {@code null}. */
		@Nullable Contender contender(String token);

		/** Note a contender that is about to name its token. */
		void contends(Contender contender);

		/** Note that a token is not contended for any more. */
		void contendsNoMore(String token);

		/** Note that more waiters, or less, stand in a queue of this instance. */
		void queued(int more);

		/** Return how many requests wait at all coordinators. */
		int waiting();

		/**
		 * Note that one user of a coordinator needs it no more; with the last one it
		 * goes.
		 */
		void leave(ResourceCoordinator coordinator);

	}

}
