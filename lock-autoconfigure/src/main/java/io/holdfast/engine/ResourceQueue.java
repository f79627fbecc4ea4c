package io.holdfast.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.Place.Question;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The queue of this instance for one lock or semaphore: the algorithm of the engine.
 *
 * <p>
 * Many threads of an instance may want the same resource, and many instances. Between
 * instances the store decides: it has a queue of tokens. Inside of an instance this class
 * decides: it has a queue of waiters, and it asks the store by few tokens for all of
 * them. It is a {@link java.util.concurrent.locks.AbstractQueuedSynchronizer} whose state
 * word is remote, and may be slow, silent or gone.
 *
 * <h2>State</h2>
 *
 * A {@link Waiter} is a request and its result; all of them stand here in the order of
 * their arrival. A {@link Place} is a token of this instance in the store's queue, with
 * the questions that were sent for it. A place belongs to the instance and outlives the
 * waiter that it was opened for. A <em>shared</em> place serves the first waiter that
 * asks for the same terms. A <em>reserved</em> one serves its own waiter only. A
 * {@link Hold} is a grant that this instance holds. A waiter <em>aside</em> has a
 * reserved place from its arrival on, blocks no waiter and is blocked by none: it does
 * not wait, asks for more permits than there are, or is unfair.
 *
 * <p>
 * Places are shared where the order between instances counts by turns anyway: those of
 * exclusive locks, and of permits that may be handed over within the instance. With other
 * permits, and with readers, each request has its own rank in the store's queue, and a
 * later request must not inherit an earlier grant, whose fencing token is lower than
 * those of others by then. An exclusive lock is safe from that: nothing else is granted
 * between the store's grant and its release.
 *
 * <h2>Events</h2>
 *
 * An arrival, an answer or a failure of the store, a notification, a release, a loss, a
 * wait that is given up, a timer: each is an event. Events run one after the other, on
 * the thread that brings them, as in a monitor without condition variables
 * ({@link SerialExecutor}). An event changes data, and ends with {@link #settle()}. But
 * for one repetition behind releases, no event sends a question itself: to ask again is
 * {@code askAt = now}, and to give a place back is to leave it without a waiter. The
 * settling does the rest, always in the same order:
 *
 * <ol>
 * <li>No wait is overdue: those whose time is over have ended.
 * <li>Each place has the waiter that it serves in the order of now. The first waiters
 * without a place that {@link #fits fit} are <em>missing</em>.
 * <li>A place without a waiter is released, as is a hold whose last lease was closed.
 * Each RELEASE brings the next missing waiter into the store's queue with the same
 * command.
 * <li>The other missing waiters get places of their own.
 * <li>Every place whose time has come asks.
 * <li>One timer is set for the next thing to do.
 * </ol>
 *
 * <h2>Invariants between events</h2>
 *
 * <ul>
 * <li>Every place has exactly one waiter, every waiter has at most one place: a grant
 * always finds its receiver.
 * <li>The waiters with a place are the first ones of the queue, those aside not counted.
 * <li>The first waiter without a place does not {@link #fits fit}, or {@link #mayAsk may
 * not ask}, in the present state.
 * <li>The tokens that notifications find are those of the places.
 * <li>The queue is forgotten if it has no waiter and no hold, nor a lost hold that its
 * thread is yet to be told of.
 * </ul>
 *
 * They are asserted after every event (run with {@code -ea}).
 *
 * <h2>Why it is right</h2>
 *
 * <em>Exclusion.</em> A hold comes from a grant of the store to a place, or from another
 * hold that ends with the same step; it is valid for less than the store keeps it, by its
 * loss margin at least. There is no hold here without a grant of the store.
 *
 * <p>
 * <em>Order.</em> Only the first waiter without a place gets one, shared places are
 * matched in the order of the queue, and behind a missing waiter nothing is matched. So
 * no request passes an earlier one for the same.
 *
 * <p>
 * <em>Progress.</em> By the third invariant a waiter without a place waits for a hold or
 * a place of this instance. Each of these ends by an event: a hold by its release or its
 * loss, which the renewer sees; a place by its answer, for which it asks until it has
 * one. That event settles. So an event need not know the waiters for its change, and no
 * wake-up is lost; those of the store may be, as each place asks again within half a
 * claim.
 *
 * <p>
 * <em>End.</em> A wait ends by its deadline, which {@link #checkAt} is never behind; by a
 * failure that does not pass; or by an outage that lasts for longer than the patience.
 * Times are compared by their difference, as the clock may overflow.
 *
 * <p>
 * <em>Cost.</em> An event costs the places and the waiters in front that have one: a
 * constant for an exclusive lock. All waiters are looked at only when a wait may be
 * overdue.
 *
 * <h2>Sources</h2>
 *
 * Monitors: C. A. R. Hoare, <em>Monitors: an operating system structuring concept</em>,
 * CACM 17 (1974). The queue of waiters whose head competes for all: D. Lea, <em>The
 * java.util.concurrent synchronizer framework</em>, SCP 58 (2005). Leases: C. Gray, D.
 * Cheriton, <em>Leases: an efficient fault-tolerant mechanism</em>, SOSP 1989. Tokens
 * that order the holders (sequencers): M. Burrows, <em>The Chubby lock service</em>, OSDI
 * 2006. To state the invariant, and derive the steps from it: E. W. Dijkstra, <em>A
 * Discipline of Programming</em>, 1976. Turns within a node before the lock moves on: D.
 * Dice, V. Marathe, N. Shavit, <em>Lock cohorting</em>, PPoPP 2012.
 */
final class ResourceQueue extends SerialExecutor {

	/** The most places of an instance for one resource: each asks now and then. */
	static final int MAX_PLACES = 200;

	/** Some twenty times as long as it takes to look at one waiter. */
	private static final long PAUSE_NANOS = 1_000;

	/** The most holds that assertions count. */
	private static final int MOST_COUNTED = 100;

	private static final Log logger = LogFactory.getLog(ResourceQueue.class);

	/** Number of requests that were announced. Guarded by the map of the queues. */
	long announced;

	final Resource resource;

	private final ResourceQueues queues;

	private final EngineContext context;

	private final HandOverLimits handOver;

	/** All waiters, in the order of their arrival. */
	private final Set<Waiter> waiters = new LinkedHashSet<>(2);

	/** Tokens in the store's queue, in the order of their opening. */
	private final List<Place> places = new ArrayList<>(1);

	/** Holds of this instance that have not ended. */
	private final Set<Hold> holds = new LinkedHashSet<>(2);

	/** Number of permits of the holds. */
	private long permits;

	/** The holds of each thread that reads, of which there may be thousands. */
	private Map<Thread, Set<Hold>> readers = Map.of();

	/** Lost holds that their threads still count on, and are to be told of. */
	private Set<Hold> lost = Set.of();

	/** Number of requests that have arrived. */
	private long arrived;

	/** Number of the event that runs. */
	private long event = 1;

	/** Number of the newest question. */
	private long lastAsked;

	/** The highest number of a question that was answered, or has failed. */
	private long lastAnswered;

	/** No wait is overdue before this time. */
	private long checkAt;

	private @Nullable Future<?> timer;

	private long timerAt;

	/** Number of the timer that counts. */
	private long timers;

	/** The last BUSY answer, unless the store has granted something since. */
	private @Nullable Busy lastBusy;

	/** Since when the holder is a foreign one, that hands nothing over. */
	private long foreignSince;

	private boolean warnedOfForeign;

	ResourceQueue(ResourceQueues queues, Resource resource) {
		super(resource, queues.context.callbacks);
		this.queues = queues;
		this.context = queues.context;
		this.resource = resource;
		this.handOver = queues.handOver(resource.kind());
	}

	EngineContext context() {
		return this.context;
	}

	LeaseRenewer renewer() {
		return this.queues.renewer;
	}

	TokenReleases releases() {
		return this.queues.releases;
	}

	/** Run an event, which changes data. It ends with a settling, also if it throws. */
	private void event(Runnable change) {
		execute(() -> {
			try {
				change.run();
			}
			finally {
				settle();
			}
		});
	}

	// The settling

	private void settle() {
		settle(null);
	}

	/**
	 * Establish the invariants.
	 * @param ended a hold that is to be given back to the store, or {@code null}
	 * @return the answer to the release of that hold, or {@code null}
	 */
	private @Nullable CompletableFuture<ReleaseReply> settle(@Nullable Hold ended) {
		CompletableFuture<ReleaseReply> answer = null;
		if (this.waiters.isEmpty() && this.places.isEmpty()) {
			// Mostly nothing waits.
			if (ended != null) {
				answer = release(ended, null, 0);
			}
			disarm();
		}
		else {
			long now = this.context.scheduler.nanoTime();
			endOverdue(now);
			List<Waiter> missing = match((ended != null) ? ended.permits() : 0);
			int next = 0;
			if (ended != null) {
				answer = release(ended, mayFollow(missing, next) ? missing.get(next++) : null, now);
			}
			for (Place left : takeUnmatched()) {
				long doubtSince = left.close(this.context.store);
				this.queues.removePlace(left.token());
				if (left.named) {
					release(left.command, doubtSince, mayFollow(missing, next) ? missing.get(next++) : null, now);
				}
			}
			while (next < missing.size() && mayAsk(missing.get(next))) {
				open(missing.get(next++), now);
			}
			long longest = this.context.store.answerNanos();
			for (Place place : this.places) {
				// After a failure the place asks again by the event of that.
				if (!place.failSilent(now, longest) && place.askAt - now <= 0) {
					ask(place, now);
				}
			}
			arm(now);
		}
		this.event++;
		assert isSettled();
		if (this.waiters.isEmpty() && this.holds.isEmpty() && this.lost.isEmpty()) {
			this.queues.forget(this, this.arrived);
		}
		return answer;
	}

	/** Return whether a missing waiter may be brought in by a RELEASE. */
	private boolean mayFollow(List<Waiter> missing, int next) {
		return next < missing.size() && this.context.isAdmitted();
	}

	/** End the waits that are overdue, if any may be. */
	private void endOverdue(long now) {
		if (this.checkAt - now > 0) {
			return;
		}
		long next = now + ResolvedRequest.FOREVER;
		Iterator<Waiter> all = this.waiters.iterator();
		while (all.hasNext()) {
			Waiter waiter = all.next();
			Place at = placeOf(waiter);
			// Without a place when it has just come, it may get one now, and its answer.
			RuntimeException why = (at == null && waiter.event == this.event) ? null : waiter.whyOver(at, now);
			if (why != null) {
				all.remove();
				endWait(waiter, why);
			}
			else {
				next = earlier(next, waiter.lookAgainAt(at, now));
			}
		}
		this.checkAt = later(next, now + pause());
	}

	/** Return the least time between two looks at all waiters, which are many perhaps. */
	private long pause() {
		return PAUSE_NANOS * this.waiters.size();
	}

	/** Return the place of a waiter or, if it has none, the first one before it. */
	private @Nullable Place placeOf(Waiter waiter) {
		Place own = waiter.place;
		return (own != null) ? own : this.places.isEmpty() ? null : this.places.get(0);
	}

	/**
	 * Match places and waiters in the order of now.
	 * @param released number of permits that are about to be released
	 * @return the first waiters without a place that fit
	 */
	private List<Waiter> match(int released) {
		for (Place place : this.places) {
			if (place.only != null) {
				place.waiter = place.only.waiting ? place.only : null;
			}
			else if (place.waiter != null) {
				place.waiter.place = null;
				place.waiter = null;
			}
		}
		List<Waiter> missing = List.of();
		int from = 0;
		for (Waiter waiter : this.waiters) {
			if (waiter.place != null) {
				continue;
			}
			// Behind a missing waiter none is matched: it would pass that one.
			while (from < this.places.size() && (this.places.get(from).waiter != null || !missing.isEmpty())) {
				from++;
			}
			Place place = unmatched(waiter, from);
			if (place != null) {
				place.waiter = waiter;
				waiter.place = place;
			}
			else if (fits(waiter, missing, missing.isEmpty() ? released : 0)) {
				missing = missing.isEmpty() ? new ArrayList<>(1) : missing;
				missing.add(waiter);
			}
			else {
				break;
			}
		}
		return missing;
	}

	private @Nullable Place unmatched(Waiter waiter, int from) {
		for (int i = from; i < this.places.size(); i++) {
			Place place = this.places.get(i);
			if (place.waiter == null && place.serves(waiter)) {
				return place;
			}
		}
		return null;
	}

	/**
	 * Return whether one more waiter is to have a place, beside the places that are
	 * matched and the waiters that are missing before it.
	 *
	 * <p>
	 * Exclusive requests have one place, and none while this instance holds the lock
	 * exclusively. Of permits that are handed over here there are as many places as could
	 * be granted together with the holds here, but one at least: the limit may be raised.
	 * Permits that a RELEASE gives back are not counted for the waiter that it brings in,
	 * which takes the place of the waiter that they let in.
	 * @param released number of permits that are about to be released, with the waiter
	 */
	private boolean fits(Waiter waiter, List<Waiter> missing, int released) {
		ResolvedRequest request = waiter.request;
		if (isExclusive(request) && isHeldExclusively()) {
			return false;
		}
		int count = missing.size();
		boolean shared = isShared(waiter);
		long alike = 0;
		for (Waiter before : missing) {
			alike += competes(request, before.request) ? 1 : 0;
		}
		for (Place place : this.places) {
			if (place.waiter != null) {
				count++;
				alike += competes(request, place.request) ? 1 : 0;
			}
		}
		if (count >= MAX_PLACES) {
			return false;
		}
		if (!shared || alike == 0) {
			return true;
		}
		return !isExclusive(request)
				&& !request.isAboveLimit(this.permits - released + (alike + 1) * request.permits());
	}

	/**
	 * Return whether the place of one request is a reason for another one to wait here.
	 */
	private static boolean competes(ResolvedRequest request, ResolvedRequest other) {
		return isExclusive(request) ? isExclusive(other) : request.hasTermsOf(other);
	}

	private static boolean isExclusive(ResolvedRequest request) {
		return request.resource().kind() == Kind.LOCK && request.permits() == Resource.ALL;
	}

	/** Return whether the place of a waiter serves any waiter that asks for the same. */
	private boolean isShared(Waiter waiter) {
		return !waiter.aside && (isExclusive(waiter.request) || isHandedOver(waiter.request));
	}

	/** Return whether such permits are handed over within this instance. */
	private boolean isHandedOver(ResolvedRequest request) {
		return this.resource.kind() == Kind.SEMAPHORE && this.handOver.isOn() && request.waits() && request.renewal()
				&& request.fair();
	}

	/**
	 * Return whether a waiter may ask by a command of its own. In strict order it waits
	 * while others of this instance stand in the store's queue before it, and the newest
	 * question before it has no answer: until then a release may bring it in, which saves
	 * its ACQUIRE.
	 */
	private boolean mayAsk(Waiter waiter) {
		return this.resource.kind() == Kind.LOCK || isShared(waiter) || !waiter.request.fair() || this.places.isEmpty()
				|| !this.places.get(0).busy || this.lastAnswered >= waiter.askedBefore;
	}

	/** Take the places without a waiter out of the list. */
	private List<Place> takeUnmatched() {
		List<Place> unmatched = List.of();
		for (int i = this.places.size() - 1; i >= 0; i--) {
			if (this.places.get(i).waiter == null) {
				unmatched = unmatched.isEmpty() ? new ArrayList<>(1) : unmatched;
				unmatched.add(0, this.places.remove(i));
			}
		}
		return unmatched;
	}

	/** Open the place of a waiter, which is to ask at once. */
	private Place open(Waiter waiter, long now) {
		long number = waiter.numberTaken ? this.queues.lastNumber.incrementAndGet() : waiter.number;
		waiter.numberTaken = true;
		Place place = new Place(Tokens.of(waiter.instanceId, number), waiter, isShared(waiter), this.event,
				this.context.store.reconnects());
		place.askAt = now;
		// From now on an outage is its own.
		this.checkAt = earlier(this.checkAt, now + this.context.outagePatienceNanos);
		waiter.place = place;
		this.places.add(place);
		// Before anything names the token: a notification may be faster than this thread.
		this.queues.addPlace(place.token(), this);
		return place;
	}

	// Commands

	private CompletableFuture<ReleaseReply> release(Hold hold, @Nullable Waiter next, long now) {
		CompletableFuture<ReleaseReply> answer = release(hold.toCommand(this.context.scheduler.nanoTime()),
				hold.doubtSince, next, now);
		// Not before, as a shut-down goes on when the last hold is forgotten.
		this.queues.renewer.stopRenewing(hold);
		return answer;
	}

	/**
	 * Release a token, and bring the next waiter into the store's queue by that.
	 * @return the answer, completed after the next waiter has seen it: that one is to be
	 * woken up before the caller that has released
	 */
	private CompletableFuture<ReleaseReply> release(AcquireCommand ended, long doubtSince, @Nullable Waiter next,
			long now) {
		if (next == null) {
			return this.queues.releases.release(this.resource, ended, doubtSince, null);
		}
		Place place = open(next, now);
		// Its own future: to give this wait up must not take back the release of another.
		CompletableFuture<ReleaseReply> answer = new CompletableFuture<>();
		Question question = asked(place, answer, now);
		answer.whenComplete((reply, error) -> event(() -> onReleaseAnswer(place, question, reply, error)));
		return this.queues.releases.release(this.resource, ended, doubtSince, place.command)
			.whenComplete((reply, error) -> {
				if (error != null) {
					answer.completeExceptionally(error);
				}
				else if (!answer.complete(reply) && (reply.next() instanceof Granted || reply.next() instanceof Busy)) {
					// Brought in after its place had gone.
					this.queues.releases.releaseIfOver(this.resource, place.command);
				}
			});
	}

	/** Note a question, after which the next one is due within half a claim. */
	private Question asked(Place place, CompletableFuture<?> answer, long now) {
		place.askAt = now + this.context.shortenRandomly(place.halfClaim);
		return place.ask(answer, now, ++this.lastAsked);
	}

	/**
	 * Send ACQUIRE, or have the versions of the fleet compared first. Earlier questions
	 * without an answer are not given up: the first answer counts, or a store that is
	 * slower than the time between two questions would never be heard.
	 */
	private void ask(Place place, long now) {
		boolean kept = place.isAnyOpen() && !this.context.isReached();
		if (kept || place.comparing) {
			// The store keeps the last command for its next connection.
			place.askAt = now + this.context.shortenRandomly(place.halfClaim);
			return;
		}
		CompletableFuture<?> admission = this.context.requestAdmission(now);
		if (admission != null) {
			place.comparing = true;
			Question question = asked(place, admission, now);
			admission.whenComplete((admitted, error) -> event(() -> onCompared(place, question, error)));
			return;
		}
		sendAcquire(place, now);
	}

	private void sendAcquire(Place place, long now) {
		CompletableFuture<AcquireReply> command = EngineContext
			.sendUnobserved(() -> this.context.store.acquire(this.resource, place.command, place.request.waits()));
		Question question = asked(place, command, now);
		command.whenComplete((reply, error) -> {
			event(() -> onAnswer(place, question, reply, error));
			if (error != null && !(error instanceof CancellationException)) {
				this.context.observers.failed(Command.ACQUIRE);
			}
		});
	}

	private void arm(long now) {
		if (this.waiters.isEmpty()) {
			disarm();
			return;
		}
		long at = this.checkAt;
		for (Place place : this.places) {
			at = earlier(at, earlier(place.askAt, place.silentAt(now, this.context.store.answerNanos())));
		}
		if (this.timer != null && this.timerAt - at <= 0) {
			// It may fire too early, which costs one settling.
			return;
		}
		disarm();
		long number = ++this.timers;
		this.timerAt = at;
		this.timer = this.context.scheduler.schedule(() -> event(() -> onTimer(number)), at - now);
	}

	static long earlier(long left, long right) {
		return (left - right < 0) ? left : right;
	}

	static long later(long left, long right) {
		return (left - right < 0) ? right : left;
	}

	private void disarm() {
		if (this.timer != null) {
			this.timer.cancel(false);
			this.timer = null;
		}
	}

	private void onTimer(long number) {
		if (number == this.timers) {
			this.timer = null;
		}
	}

	// Requests

	/** Let a request arrive, which was announced. */
	void arrive(Waiter waiter) {
		event(() -> {
			this.arrived++;
			if (!waiter.instanceId.equals(this.context.instanceId())) {
				// Another copy of this process may have the same token.
				fail(waiter, waiter.notAcquired(Reason.SHUTDOWN, null));
			}
			// A part may be given up before it comes.
			else if (!waiter.result.isDone() && !enter(waiter)) {
				stand(waiter);
			}
		});
	}

	/**
	 * Let a request enter a hold of its own, or refuse it.
	 * @return false if it is to wait for its turn
	 */
	private boolean enter(Waiter waiter) {
		ResolvedRequest request = waiter.request;
		Hold own = null;
		boolean lostBefore = false;
		if (this.resource.kind() == Kind.LOCK) {
			List<Hold> enclosing = request.reentrant() ? waiter.enclosingHolds() : List.of();
			if (!this.holds.isEmpty() || !this.lost.isEmpty() || !enclosing.isEmpty()) {
				// One look: a hold that ends from here on has not ended yet.
				long now = this.context.scheduler.nanoTime();
				for (Hold hold : expired(waiter.thread, now)) {
					this.queues.renewer.expire(hold, hold.whyExpired(), now);
					lose(hold);
				}
				own = own(waiter.thread, enclosing, now);
				lostBefore = request.reentrant() && hasLost(waiter.thread, enclosing, now);
			}
		}
		if (own != null && !lostBefore && request.reentrant() && (isExclusive(own.request) || request.reads())) {
			// Also during a shut-down: it is part of the work in flight.
			nest(waiter, own);
			return true;
		}
		RuntimeException why = null;
		if (this.context.isClosed()) {
			why = waiter.notAcquired(Reason.SHUTDOWN, null);
		}
		else if (lostBefore) {
			why = EngineExceptions.lostBefore(this.resource);
		}
		else if (own != null && (request.reentrant() || request.waits() && isWaitedFor(own, request))) {
			why = waiter.notAcquired(Reason.SELF_BLOCKED, null);
		}
		else if (request.waits() && this.queues.isFull(this.waiters.size())) {
			why = waiter.notAcquired(Reason.TOO_MANY_WAITERS, null);
		}
		else if (!mayTry(request)) {
			// Another request is before it; perhaps only because the store is silent.
			why = waiter.whyTimedOut(placeOf(waiter), this.context.scheduler.nanoTime());
		}
		if (why != null) {
			fail(waiter, why);
		}
		return why != null;
	}

	/** Return whether a request would wait for a hold. */
	private static boolean isWaitedFor(Hold own, ResolvedRequest request) {
		return isExclusive(own.request) || isExclusive(request);
	}

	/** Return whether a request may ask at its arrival, or waits. */
	private boolean mayTry(ResolvedRequest request) {
		if (request.waits() || isAboveLimit(request) || !request.fair() || isComparing()) {
			return true;
		}
		if (this.waiters.size() > this.places.size()) {
			// An earlier waiter has no place yet.
			return false;
		}
		if (this.resource.kind() == Kind.SEMAPHORE) {
			return true;
		}
		return request.reads() ? this.places.size() < MAX_PLACES && !isHeldExclusively()
				: !isHeldExclusively() && this.places.stream().noneMatch((place) -> isExclusive(place.request));
	}

	/**
	 * Return whether the first place waits for the comparison of the fleet's versions.
	 */
	private boolean isComparing() {
		return !this.places.isEmpty() && this.places.get(0).comparing;
	}

	/**
	 * Return whether a request asks for more than there is: it is refused, not served.
	 */
	private static boolean isAboveLimit(ResolvedRequest request) {
		return request.isAboveLimit(request.permits());
	}

	private void nest(Waiter waiter, Hold hold) {
		LeaseHandle lease = openLease(waiter, hold, this.context.scheduler.nanoTime());
		this.queues.renewer.onLeasesChanged(hold);
		deliver(waiter, lease);
	}

	/** Let a request stand in the queue. */
	private void stand(Waiter waiter) {
		waiter.tellBegin();
		waiter.event = this.event;
		waiter.askedBefore = this.lastAsked;
		waiter.waiting = true;
		long check = waiter.startedAt + Math.min(waiter.waitNanos(), this.context.outagePatienceNanos);
		this.checkAt = this.waiters.isEmpty() ? check : earlier(this.checkAt, check);
		this.waiters.add(waiter);
		this.queues.addWaiting(1);
		waiter.aside = !waiter.request.waits() || isAboveLimit(waiter.request)
				|| !waiter.request.fair() && this.places.size() < MAX_PLACES;
		if (waiter.aside) {
			open(waiter, waiter.arrivedAt);
		}
	}

	/** Note that a waiter has left the queue. */
	private void left(Waiter waiter) {
		waiter.waiting = false;
		this.queues.addWaiting(-1);
	}

	private void endWait(Waiter waiter, RuntimeException why) {
		Place place = waiter.place;
		if (place != null && place.trouble == null
				&& place.isSilent(this.context, this.context.scheduler.nanoTime(), waiter.waitNanos())) {
			this.context.observers.failed(Command.ACQUIRE);
		}
		left(waiter);
		fail(waiter, why);
	}

	/** Tell a waiter of its end after the event: to wake up a thread takes its time. */
	private void fail(Waiter waiter, RuntimeException why) {
		later(() -> waiter.fail(why));
	}

	/** End a wait whose caller has gone. */
	void giveUp(Waiter waiter) {
		event(() -> {
			LeaseHandle lease = waiter.lease;
			if (this.waiters.remove(waiter)) {
				endWait(waiter, waiter.notAcquired(Reason.INTERRUPTED, null));
			}
			else if (lease != null) {
				// It was granted. At once: its thread would enter by it if it asks again.
				lease.discard();
			}
		});
	}

	/** End the waits that are overdue, as a thread has noticed that the timer is late. */
	void endOverdue() {
		event(() -> this.checkAt = this.context.scheduler.nanoTime());
	}

	/**
	 * End, in an event, all waits of an instance id, as nothing is granted any more.
	 * @param instanceId of which waiters
	 */
	void endWaits(String instanceId) {
		this.waiters.removeIf((waiter) -> {
			boolean ended = waiter.instanceId.equals(instanceId);
			if (ended) {
				endWait(waiter, waiter.notAcquired(Reason.SHUTDOWN, null));
			}
			return ended;
		});
		settle();
	}

	/**
	 * Return the waiters in their order.
	 * @return completed when events before it have run
	 */
	CompletableFuture<List<Waiter>> waiters() {
		return CompletableFuture.supplyAsync(() -> List.copyOf(this.waiters), this::execute);
	}

	// Answers

	private void onAnswer(Place place, Question question, @Nullable AcquireReply reply, @Nullable Throwable error) {
		over(question);
		if (error != null) {
			onFailure(place, question, error);
		}
		else if (!repeatBehindReleases(place, question, reply)) {
			onReply(place, question, Objects.requireNonNull(reply), HandOver.ASKED_AGAIN);
		}
	}

	/** Note the answer to the RELEASE that brought a place in. */
	private void onReleaseAnswer(Place place, Question question, @Nullable ReleaseReply reply,
			@Nullable Throwable error) {
		over(question);
		if (error == null && reply != null && reply.next() != null) {
			onReply(place, question, reply.next(), HandOver.PASSED_ON);
		}
		else if (error != null && !EngineExceptions.isSilence(error)) {
			onFailure(place, question, error);
		}
		else {
			if (error == null) {
				place.answered(question);
			}
			// If it is late only for the caller that has released, it may come yet.
			place.askAt = this.context.scheduler.nanoTime();
		}
	}

	private void onCompared(Place place, Question question, @Nullable Throwable error) {
		over(question);
		if (error != null) {
			place.comparing = false;
			onFailure(place, question, error);
			return;
		}
		place.answered(question);
		if (place.comparing) {
			// All in their order, not in that of their answers.
			long now = this.context.scheduler.nanoTime();
			this.places.stream().filter((other) -> other.comparing).forEach((other) -> {
				other.comparing = false;
				other.askAt = now;
			});
		}
	}

	private void over(Question question) {
		this.lastAnswered = Math.max(this.lastAnswered, question.number());
	}

	/**
	 * Repeat the only question of a request that does not wait, if it finds the resource
	 * held while any release of this instance has no answer. After a reconnect, NOSCRIPT
	 * or a redirection it may have run before those. It stays open until they are
	 * answered: without that, the wait ends as that for the store.
	 */
	private boolean repeatBehindReleases(Place place, Question question, @Nullable AcquireReply reply) {
		CompletableFuture<?> releases = (reply instanceof Busy && !place.request.waits() && !place.repeated)
				? this.queues.releases.unanswered(this.resource) : null;
		if (releases == null) {
			return false;
		}
		place.repeated = true;
		releases.thenRun(() -> event(() -> {
			if (!place.closed) {
				sendAcquire(place, this.context.scheduler.nanoTime());
				place.answered(question);
			}
		}));
		return true;
	}

	private void onReply(Place place, Question question, AcquireReply reply, HandOver way) {
		place.answered(question);
		// After the end of a place nothing is to be done: its RELEASE came behind this.
		if (place.closed) {
			return;
		}
		if (reply instanceof Granted granted) {
			onGranted(place, question, granted, way);
		}
		else if (reply instanceof Rejected rejected) {
			Waiter waiter = waiterOf(place);
			refuse(place, EngineExceptions.exceedsLimit(waiter.request, rejected.limit(), waiter.waitedNanos()));
		}
		else {
			onBusy(place, question, (Busy) reply);
		}
	}

	private static Waiter waiterOf(Place place) {
		return Objects.requireNonNull(place.waiter, "no waiter");
	}

	/** End the wait at a place that the store has refused, and not queued. */
	private void refuse(Place place, RuntimeException why) {
		Waiter waiter = waiterOf(place);
		place.refused();
		place.askAt = this.context.scheduler.nanoTime();
		this.waiters.remove(waiter);
		endWait(waiter, why);
	}

	private void onBusy(Place place, Question question, Busy busy) {
		long now = this.context.scheduler.nanoTime();
		String formerOwner = (this.lastBusy != null) ? this.lastBusy.owner() : null;
		noteHolder(busy, now);
		if (!place.request.waits()) {
			refuse(place, timedOut(waiterOf(place)));
			return;
		}
		if (!place.busy) {
			// Its deadline needs to leave no time for a first answer any more.
			this.checkAt = earlier(this.checkAt, now);
		}
		place.busy(question, busy.fence());
		warnOfForeign(busy, now);
		if (busy.owner() != null && !busy.owner().equals(formerOwner)) {
			// A new instance can be looked up before the wait ends.
			this.context.holder(busy.owner());
		}
		long delay = this.context.shortenRandomly(place.halfClaim);
		if (busy.foreign() || !this.context.store.isListening()) {
			delay = Math.min(delay, this.context.retryDelay());
		}
		if (busy.ownerTtlMillis() >= 0) {
			// One more, as the store counts whole milliseconds: it is over by then.
			delay = Math.min(delay, TimeUnit.MILLISECONDS.toNanos(busy.ownerTtlMillis() + 1));
		}
		place.askAt = now + delay;
	}

	private void noteHolder(Busy busy, long now) {
		if (busy.foreign() && (this.lastBusy == null || !this.lastBusy.foreign())) {
			this.foreignSince = now;
		}
		this.lastBusy = busy;
	}

	/** Return the exception for a wait that timed out, with the holder as last told. */
	NotAcquiredException timedOut(Waiter waiter) {
		return this.context.timedOut(waiter.request, waiter.waitedNanos(), isHeldExclusively(), this.lastBusy);
	}

	/**
	 * Warn, once, if foreign holders have had the resource for longer than a lease time:
	 * nothing tells a waiter when they release it. Of keys without expiry the store warns
	 * at once.
	 */
	private void warnOfForeign(Busy busy, long now) {
		long millis = TimeUnit.NANOSECONDS.toMillis(now - this.foreignSince);
		if (busy.foreign() && !this.warnedOfForeign && busy.ownerTtlMillis() >= 0
				&& millis >= this.context.settings.leaseTime().toMillis()) {
			this.warnedOfForeign = true;
			logger.warn("For " + millis + " ms, " + this.resource + " has been held by a client other than Holdfast; "
					+ this.waiters.size() + " requests wait for it here. Its lease ends in " + busy.ownerTtlMillis()
					+ " ms if it is not renewed; find out who holds it, or release it by force");
		}
	}

	/**
	 * Note that a question failed. A request that waits goes on if the failure may pass:
	 * the settling ends it if the store fails for too long. Any other failure ends the
	 * wait at the place, and no other wait.
	 */
	private void onFailure(Place place, Question question, Throwable error) {
		this.context.onAcquireFailed(this.resource, error);
		place.failed(question, this.context.store);
		if (place.closed || place.isOld(question)) {
			return;
		}
		long now = this.context.scheduler.nanoTime();
		if (place.request.waits() && EngineExceptions.isTemporary(error)) {
			place.trouble = error;
			place.failedAt = now;
			place.askAt = now + this.context.retryDelay();
			this.checkAt = earlier(this.checkAt, now);
		}
		else {
			Waiter waiter = waiterOf(place);
			place.askAt = now;
			this.waiters.remove(waiter);
			endWait(waiter, waiter.storeTrouble(error));
		}
	}

	private void onGranted(Place place, Question question, Granted granted, HandOver way) {
		if (place.hasEnded(granted.fence())) {
			// It has asked again, when it learnt of that.
			return;
		}
		long now = this.context.scheduler.nanoTime();
		if (question.sentAt() + Hold.validity(granted.ttlMillis()) - place.request.lossMarginNanos() - now > 0) {
			hold(place, granted, question.sentAt(), way, now);
		}
		else {
			place.askAt = now;
		}
	}

	// Notifications

	/**
	 * Take a grant that another script has made.
	 * @param ttlMillis for how long, or 0 if there is none, or it is not confirmed
	 * @param granted whether the token was granted something
	 */
	void onNotified(String token, long fence, long ttlMillis, boolean granted) {
		event(() -> find(token).ifPresentOrElse((place) -> onNotified(place, fence, ttlMillis),
				() -> this.queues.onOtherToken(this.resource, token, fence, granted)));
	}

	/** Return the place of a token, unless an earlier event has granted or ended it. */
	private Optional<Place> find(String token) {
		return this.places.stream().filter((place) -> place.token().equals(token)).findFirst();
	}

	private void onNotified(Place place, long fence, long ttlMillis) {
		if (place.isOldNews(fence)) {
			return;
		}
		// The grant came after the last answer BUSY, so it lasts from then at
		// least.
		long since = place.grantedSince();
		long now = this.context.scheduler.nanoTime();
		long margin = place.request.lossMarginNanos();
		if (since + Hold.validity(ttlMillis) - margin - now > (TimeUnit.MILLISECONDS.toNanos(ttlMillis) - margin) / 3) {
			hold(place, new Granted(fence, ttlMillis), since, HandOver.WOKEN_UP, now);
		}
		else {
			place.askAt = now;
		}
	}

	/**
	 * Note that a token was released by force, perhaps before its grant was known here.
	 * @param nextFence above the fences of the grants that have ended
	 */
	void onForced(String token, long nextFence) {
		event(() -> find(token).ifPresentOrElse((place) -> {
			place.ended(nextFence);
			place.askAt = this.context.scheduler.nanoTime();
		}, () -> this.queues.renewer.onTokenLost(token, nextFence, ForcedRelease.FORCED)));
	}

	/** Ask again for all places, as notifications may have been missed. */
	void onListening() {
		event(() -> {
			long now = this.context.scheduler.nanoTime();
			this.places.forEach((place) -> place.askAt = now);
		});
	}

	// Holds

	/** Make a hold of a grant, for the first waiter that the place may serve. */
	private void hold(Place place, Granted granted, long sentAt, HandOver way, long now) {
		this.context.onAcquired(this.resource.kind());
		this.lastBusy = null;
		Waiter waiter = receiver(place);
		waiter.metOthers = waiter.hasMetOthersAt(place);
		long doubtSince = place.close(this.context.store);
		Hold hold = new Hold(waiter, place.token(), doubtSince, granted, sentAt, now);
		if (way != HandOver.ASKED_AGAIN || waiter.metOthers) {
			waiter.tellHandedOver(way);
		}
		this.waiters.remove(waiter);
		left(waiter);
		add(hold);
		LeaseHandle lease = openLease(waiter, hold, now);
		this.queues.renewer.startRenewing(hold);
		// Behind that, or a notification would take the token for one that is over.
		waiterOf(place).place = null;
		this.places.remove(place);
		this.queues.removePlace(place.token());
		deliver(waiter, lease);
	}

	/**
	 * Return the waiter that a grant is for: shared places that serve the same waiters
	 * have them in the same order.
	 */
	private Waiter receiver(Place granted) {
		if (granted.only == null) {
			for (Place place : this.places) {
				if (place == granted || place.serves(waiterOf(granted))) {
					return waiterOf(place);
				}
			}
		}
		return waiterOf(granted);
	}

	private LeaseHandle openLease(Waiter waiter, Hold hold, long now) {
		LeaseHandle lease = LeaseHandle.of(hold, waiter, now);
		hold.open(lease, now);
		waiter.lease = lease;
		return lease;
	}

	private void deliver(Waiter waiter, LeaseHandle lease) {
		// To wake up a thread takes longer than all else: others are not to wait for it.
		later(() -> {
			if (!waiter.result.complete(lease)) {
				// Its caller has cancelled. On another thread: the next caller may have
				// cancelled too, and releasing here would recurse.
				this.context.call(lease::discardAsync);
			}
		});
	}

	/**
	 * Note, in an event, that a hold was lost: waiters need not wait for its thread any
	 * more.
	 */
	void onHoldLost(Hold hold) {
		lose(hold);
		settle();
	}

	/**
	 * Release one lease, in an event; with the last of them the hold ends.
	 * @param hold the hold of the lease
	 * @param used whether the lease reached its user
	 * @param result completed with the result of the release
	 */
	void releaseLease(Hold hold, LeaseHandle handle, boolean used, CompletableFuture<ReleaseResult> result) {
		long now = this.context.scheduler.nanoTime();
		hold.close(handle, used, now);
		if (hold.leases.count() > 0) {
			result.complete(hold.isHeld(now) ? ReleaseResult.RELEASED : ReleaseResult.LOST);
			this.queues.renewer.onLeasesChanged(hold);
			return;
		}
		boolean held = hold.markReleased(now);
		if (held) {
			hold.tellEnded(HoldEnd.RELEASED);
		}
		else {
			if (hold.hasRunOut(now)) {
				this.queues.renewer.reportRunOut(hold);
			}
			this.queues.renewer.expire(hold, hold.whyExpired(), now);
		}
		remove(hold);
		if (!this.lost.isEmpty()) {
			this.lost.remove(hold);
		}
		Waiter heir = held ? heir(hold, now) : null;
		if (!held && this.queues.releases.isLeftToStore(hold)) {
			// A shut-down has ended it, and the store ends it later.
			settle();
			result.complete(ReleaseResult.LOST);
		}
		else if (held && hold.isUsed() && hold.minHoldLeft(now) > 0) {
			// It keeps others out until its least time is over.
			this.queues.releases.retain(hold, hold.minHoldLeft(now), result);
			this.queues.renewer.stopRenewing(hold);
			settle();
		}
		else if (heir != null) {
			handOver(hold, heir, now);
			settle();
			result.complete(ReleaseResult.RELEASED);
		}
		else {
			Objects.requireNonNull(settle(hold)).whenComplete((reply, error) -> {
				if (error == null) {
					result.complete(held ? this.queues.renewer.judgeRelease(hold, reply) : ReleaseResult.LOST);
				}
				else {
					result.completeExceptionally(EngineExceptions.releaseTrouble(this.resource, error));
				}
			});
		}
	}

	/**
	 * Return the waiter that can take over a released hold without the store, or
	 * {@code null}: the first one, if the store would be asked the same for it, the turn
	 * of this instance is not over, and the hold is sound.
	 */
	private @Nullable Waiter heir(Hold hold, long now) {
		if (this.context.isClosed()) {
			return null;
		}
		for (Waiter first : this.waiters) {
			if (!first.aside) {
				return (mayTakeOver(first, hold) && hold.mayBeHandedOver(this.handOver, now)) ? first : null;
			}
		}
		return null;
	}

	private boolean mayTakeOver(Waiter waiter, Hold hold) {
		ResolvedRequest request = waiter.request;
		return (isExclusive(request) || isHandedOver(request)) && request.renewal()
				&& request.permits() == hold.permits() && request.limit() == hold.request.limit()
				&& request.leaseMillis() == hold.request.leaseMillis()
				&& request.lossMarginNanos() == hold.request.lossMarginNanos()
				&& Tokens.isOf(hold.token, waiter.instanceId);
	}

	/** Have a waiter go on with a released hold. Its place is for the next one here. */
	private void handOver(Hold hold, Waiter heir, long now) {
		this.waiters.remove(heir);
		left(heir);
		heir.metOthers = true;
		heir.tellHandedOver(HandOver.LOCAL);
		Hold next = new Hold(heir, hold, now);
		add(next);
		LeaseHandle lease = openLease(heir, next, now);
		this.queues.renewer.replace(hold, next);
		deliver(heir, lease);
	}

	private void add(Hold hold) {
		this.holds.add(hold);
		this.permits += hold.permits();
		if (isReader(hold)) {
			this.readers = this.readers.isEmpty() ? new HashMap<>() : this.readers;
			this.readers.computeIfAbsent(hold.thread, (thread) -> new LinkedHashSet<>(2)).add(hold);
		}
	}

	private void remove(Hold hold) {
		if (this.holds.remove(hold)) {
			this.permits -= hold.permits();
			if (isReader(hold)) {
				this.readers.computeIfPresent(hold.thread,
						(thread, own) -> (own.remove(hold) && own.isEmpty()) ? null : own);
			}
		}
	}

	private static boolean isReader(Hold hold) {
		return hold.request.reads() && hold.thread != null;
	}

	/** Remove a hold that was lost, but keep it in mind while its thread counts on it. */
	private void lose(Hold hold) {
		remove(hold);
		if (this.resource.kind() == Kind.LOCK && hold.mustTellThread()) {
			this.lost = this.lost.isEmpty() ? new LinkedHashSet<>() : this.lost;
			this.lost.add(hold);
		}
	}

	/** Return whether a lock is held exclusively. */
	private boolean isHeldExclusively() {
		return this.resource.kind() == Kind.LOCK && this.permits >= Resource.ALL;
	}

	/**
	 * Return the holds that matter to a thread: its own ones, and any that exclude it.
	 */
	private Set<Hold> holdsFor(@Nullable Thread thread) {
		return isHeldExclusively() ? this.holds
				: (thread != null) ? this.readers.getOrDefault(thread, Set.of()) : Set.of();
	}

	/** Return the holds that are over, and in the way of a thread. */
	private List<Hold> expired(@Nullable Thread thread, long now) {
		List<Hold> expired = List.of();
		for (Hold hold : holdsFor(thread)) {
			if ((!hold.request.reads() || hold.isOf(thread)) && !hold.isHeld(now)) {
				expired = expired.isEmpty() ? new ArrayList<>(1) : expired;
				expired.add(hold);
			}
		}
		return expired;
	}

	/** Return the valid hold of a thread, or of the leases that its request is under. */
	private @Nullable Hold own(@Nullable Thread thread, List<Hold> enclosing, long now) {
		for (Hold hold : holdsFor(thread)) {
			if (hold.isOf(thread)) {
				return hold;
			}
		}
		for (Hold hold : enclosing) {
			if (hold.isHeld(now)) {
				return hold;
			}
		}
		return null;
	}

	/** Return whether a thread has lost a hold, or its request is under a lost lease. */
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

	// Assertions

	private boolean isSettled() {
		boolean prefix = true;
		int placed = 0;
		long last = -1;
		for (Waiter waiter : this.waiters) {
			Place place = waiter.place;
			assert waiter.waiting && waiter.event >= last : waiter + " is out of order";
			last = waiter.event;
			if (place != null) {
				placed++;
				assert place.waiter == waiter : waiter + " at " + place;
				assert prefix || waiter.aside : waiter + " has passed another one";
			}
			else if (prefix) {
				prefix = false;
				assert !waiter.aside && !(fits(waiter, List.of(), 0) && mayAsk(waiter)) : waiter + " lacks a place";
			}
			assert this.checkAt - waiter.endsAt() <= pause() : waiter + " has a deadline before " + this.checkAt;
		}
		assert placed == this.places.size() : this.places + " are not those of " + this.waiters;
		for (Place place : this.places) {
			assert place.waiter != null && place.waiter.place == place && place.waiter.waiting : place;
			assert !place.closed && this.queues.ofPlace(place.token()) == this : place + " is not known";
		}
		assert this.holds.size() > MOST_COUNTED || this.permits == this.holds.stream().mapToLong(Hold::permits).sum();
		assert this.waiters.isEmpty() == (this.timer == null) : "a timer for " + this.waiters;
		return true;
	}

}
