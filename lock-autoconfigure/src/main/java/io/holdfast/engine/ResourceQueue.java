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
import java.util.stream.Stream;

import io.holdfast.LockHolder;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.Place.Question;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.InstanceInfo;
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
 * Queue of this instance for one lock or semaphore: the core algorithm of the engine.
 *
 * <p>
 * Many threads of many instances may request the same resource. Between instances, the
 * store decides by a queue of tokens. Within an instance, this class decides by a queue
 * of waiters. A few tokens contend in the store for all waiters. The class resembles
 * {@link java.util.concurrent.locks.AbstractQueuedSynchronizer}, except that its state is
 * remote, and may be slow or unreachable.
 *
 * <h2>State</h2>
 *
 * A {@link Waiter} is a request and its result. Waiters are queued in the order of their
 * arrival. A {@link Place} is a token of this instance in the store's queue, with its
 * questions to the store. A place belongs to the instance, and may outlive the waiter for
 * which it was opened. A <em>shared</em> place serves the first waiter with the same
 * terms. A <em>reserved</em> place serves a single waiter. A {@link Hold} is a grant that
 * this instance holds. A <em>bypassing</em> waiter has a reserved place from its arrival
 * on, does not block other waiters, and is not blocked by them. Such a waiter has a
 * request without waiting, a request for more permits than the limit, or an unfair
 * request.
 *
 * <p>
 * Places are shared if instances take turns anyway: for exclusive locks, and for permits
 * that may be handed over within the instance. Readers and other permits need a rank in
 * the store's queue for each request. A later reader must not inherit an earlier grant,
 * because other grants may have got higher fencing tokens since. Exclusive locks have no
 * such problem: the store grants nothing else between the grant of an exclusive lock and
 * its release.
 *
 * <h2>Events</h2>
 *
 * Arrivals, answers and failures of the store, notifications, releases, losses, cancelled
 * waits and timers are events. Events run one after the other, each on the thread that
 * submits it, as in a monitor without condition variables ({@link SerialExecutor}). An
 * event changes data, and ends with {@link #settle()}. Events do not send questions (with
 * one exception, see {@code repeatBehind}). To ask again, an event sets
 * {@code askAt = now}. To give a place back, an event leaves the place without a waiter.
 * The settling then acts, always in the same order:
 *
 * <ol>
 * <li>End overdue waits.
 * <li>Match places with waiters in the order of the queue. The first waiters without a
 * place that {@link #fits fit} are <em>missing</em>.
 * <li>Release places without a waiter, and a hold whose last lease was closed. Each
 * RELEASE also brings the next missing waiter into the store's queue, by the same
 * command.
 * <li>Open places for the other missing waiters.
 * <li>Send the questions that are due.
 * <li>Set one timer for the next action.
 * </ol>
 *
 * <h2>Invariants between events</h2>
 *
 * <ul>
 * <li>Every place has exactly one waiter, and every waiter has at most one place: each
 * grant has a receiver.
 * <li>The waiters with a place are the first waiters of the queue, apart from bypassing
 * waiters.
 * <li>The first waiter without a place does not {@link #fits fit}.
 * <li>The tokens registered for notifications are the tokens of the places.
 * <li>The queue is discarded if it has no waiters, no holds, and no lost holds whose
 * threads still have to learn of the loss.
 * </ul>
 *
 * The invariants are asserted after every event (run with {@code -ea}).
 *
 * <h2>Why it is right</h2>
 *
 * <em>Exclusion.</em> A hold is created by a grant of the store to a place, or takes over
 * from another hold that ends in the same step. A hold is valid for less time than the
 * store keeps the grant, at least by the loss margin. Therefore each valid hold has a
 * grant in the store.
 *
 * <p>
 * <em>Order.</em> Only the first waiter without a place gets a place. Shared places are
 * matched in the order of the queue, and no waiter behind a missing waiter is matched.
 * Therefore no request overtakes an earlier request with the same terms.
 *
 * <p>
 * <em>Progress.</em> By the third invariant, a waiter without a place waits for a hold or
 * a place of this instance. Each of these ends by an event: a hold by its release or by
 * its loss, which the renewer detects; a place by an answer, for which it asks
 * repeatedly. Each event settles. Therefore events need not know which waiters depend on
 * them, and no wake-up within the instance is lost. Notifications of the store may be
 * lost, because each place asks again within half a claim.
 *
 * <p>
 * <em>End.</em> A wait ends by its deadline, by a permanent failure, or by an outage that
 * is longer than the outage patience. {@link #checkAt} is never later than a deadline.
 * Times are compared by their difference, as the clock may overflow.
 *
 * <p>
 * <em>Cost.</em> An event takes time proportional to the number of places: a constant for
 * an exclusive lock. All waiters are scanned only when a wait may be overdue.
 *
 * <h2>Sources</h2>
 *
 * Monitors: C. A. R. Hoare, <em>Monitors: an operating system structuring concept</em>,
 * CACM 17 (1974). Queue of waiters whose head competes for all: D. Lea, <em>The
 * java.util.concurrent synchronizer framework</em>, SCP 58 (2005). Leases: C. Gray, D.
 * Cheriton, <em>Leases: an efficient fault-tolerant mechanism</em>, SOSP 1989. Tokens
 * that order the holders (sequencers): M. Burrows, <em>The Chubby lock service</em>, OSDI
 * 2006. Derivation of steps from an invariant: E. W. Dijkstra, <em>A Discipline of
 * Programming</em>, 1976. Hand-overs within a node before the lock moves on: D. Dice, V.
 * Marathe, N. Shavit, <em>Lock cohorting</em>, PPoPP 2012.
 */
final class ResourceQueue extends SerialExecutor {

	/**
	 * Maximum number of places of an instance for one resource: each place asks the store
	 * repeatedly.
	 */
	static final int MAX_PLACES = 200;

	/**
	 * Minimum pause between two scans of all waiters, per waiter: about twenty times the
	 * duration of the scan.
	 */
	private static final long PAUSE_NANOS = 1_000;

	/** Maximum number of holds that assertions count. */
	private static final int MAX_COUNTED = 100;

	private static final Log logger = LogFactory.getLog(ResourceQueue.class);

	/** Number of announced requests. Guarded by the map of the queues. */
	long announced;

	final Resource resource;

	private final ResourceQueues queues;

	final EngineContext context;

	private final HandOverLimits handOver;

	/** All waiters, in the order of their arrival. */
	private final Set<Waiter> waiters = new LinkedHashSet<>(2);

	/** Places in the order of their opening. */
	private final List<Place> places = new ArrayList<>(1);

	/** Holds of this instance that have not ended. */
	private final Set<Hold> holds = new LinkedHashSet<>(2);

	/** Total number of permits of the holds. */
	private long permits;

	/** Holds of readers by thread. There may be thousands. */
	private Map<Thread, Set<Hold>> readers = Map.of();

	/** Lost holds whose threads still have to learn of the loss. */
	private Set<Hold> lost = Set.of();

	/** Number of arrived requests. */
	private long arrived;

	/** Number of the current event. */
	private long event = 1;

	/** Time before which no wait is overdue. */
	private long checkAt;

	private @Nullable Future<?> timer;

	private long timerAt;

	/** Last BUSY answer, or {@code null} after a grant. */
	private @Nullable Busy lastBusy;

	/**
	 * Time since which a foreign client holds the resource. Foreign clients do not notify
	 * waiters.
	 */
	private long foreignSince;

	private boolean warnedOfForeign;

	ResourceQueue(ResourceQueues queues, Resource resource) {
		super(resource, queues.context.callbacks);
		this.queues = queues;
		this.context = queues.context;
		this.resource = resource;
		this.handOver = queues.handOver(resource.kind());
	}

	LeaseRenewer renewer() {
		return this.queues.renewer;
	}

	TokenReleases releases() {
		return this.queues.releases;
	}

	/** Run an event, and settle, even if the event throws an exception. */
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

	// Settling

	private void settle() {
		settle(null);
	}

	/**
	 * Establish the invariants.
	 * @param ended a hold to release in the store, or {@code null}
	 * @return the answer to the release of the hold, or {@code null} without a hold
	 */
	private @Nullable CompletableFuture<ReleaseReply> settle(@Nullable Hold ended) {
		CompletableFuture<ReleaseReply> answer = null;
		if (this.waiters.isEmpty() && this.places.isEmpty()) {
			// The usual case: nothing waits.
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
			for (Place unmatched : takeUnmatched()) {
				long doubtSince = unmatched.close(this.context.store);
				this.queues.removePlace(unmatched.token());
				if (unmatched.knownToStore) {
					release(unmatched.command, doubtSince, mayFollow(missing, next) ? missing.get(next++) : null, now);
				}
			}
			while (next < missing.size()) {
				open(missing.get(next++), now);
			}
			long longest = this.context.store.answerNanos();
			for (Place place : this.places) {
				// After a failure, the event of the failure schedules the next question.
				if (!place.failOverdue(this.context, now, longest) && place.askAt - now <= 0) {
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

	/**
	 * Return whether a RELEASE may bring the next missing waiter into the store's queue.
	 */
	private boolean mayFollow(List<Waiter> missing, int next) {
		return next < missing.size() && this.context.isAdmitted();
	}

	/** End overdue waits. */
	private void endOverdue(long now) {
		if (this.checkAt - now > 0) {
			return;
		}
		long next = now + ResolvedRequest.FOREVER;
		Iterator<Waiter> iterator = this.waiters.iterator();
		while (iterator.hasNext()) {
			Waiter waiter = iterator.next();
			Place place = placeOf(waiter);
			// A waiter without a place that has just arrived may get one now, and its
			// answer.
			boolean isNew = place == null && waiter.arrivalEvent == this.event;
			RuntimeException why = isNew ? null : waiter.whyOver(place, now);
			if (why != null) {
				iterator.remove();
				endWait(waiter, why);
			}
			else {
				next = earlier(next, waiter.lookAgainAt(place, now));
			}
		}
		this.checkAt = later(next, now + pause());
	}

	/** Return the minimum time between two scans of all waiters, in nanoseconds. */
	private long pause() {
		return PAUSE_NANOS * this.waiters.size();
	}

	/**
	 * Return the place of a waiter. If the waiter has no place, return the first place
	 * before the waiter, or {@code null}.
	 */
	private @Nullable Place placeOf(Waiter waiter) {
		Place own = waiter.place;
		return (own != null) ? own : this.places.isEmpty() ? null : this.places.get(0);
	}

	/**
	 * Match places with waiters in the order of the queue.
	 * @param released the number of permits that are about to be released
	 * @return the missing waiters: the first waiters without a place that fit
	 */
	private List<Waiter> match(int released) {
		for (Place place : this.places) {
			if (place.reservedFor != null) {
				place.waiter = this.waiters.contains(place.reservedFor) ? place.reservedFor : null;
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
			// No waiter behind a missing waiter is matched: it would overtake the missing
			// waiter.
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
			if (place.waiter == null && place.mayServe(waiter)) {
				return place;
			}
		}
		return null;
	}

	/**
	 * Return whether one more waiter should have a place, in addition to the matched
	 * places and the missing waiters before it.
	 *
	 * <p>
	 * Exclusive requests share one place, and have none while this instance holds the
	 * lock exclusively. Permits with local hand-over have as many places as the limit
	 * allows in addition to this instance's holds. They have at least one place, because
	 * the limit may be raised. Permits that a RELEASE gives back do not count for the
	 * waiter that the RELEASE brings in.
	 * @param released the number of permits that are about to be released by the command
	 * that brings the waiter in
	 */
	private boolean fits(Waiter waiter, List<Waiter> missing, int released) {
		ResolvedRequest request = waiter.request;
		if (isExclusive(request) && isHeldExclusively()) {
			return false;
		}
		int count = missing.size();
		boolean shared = isShared(waiter);
		long competing = 0;
		for (Waiter missingBefore : missing) {
			competing += competes(request, missingBefore.request) ? 1 : 0;
		}
		for (Place place : this.places) {
			if (place.waiter != null) {
				count++;
				competing += competes(request, place.request) ? 1 : 0;
			}
		}
		if (count >= MAX_PLACES) {
			return false;
		}
		if (!shared || competing == 0) {
			return true;
		}
		return !isExclusive(request)
				&& !request.isAboveLimit(this.permits - released + (competing + 1) * request.permits());
	}

	/**
	 * Return whether a request competes for the same places as another request.
	 */
	private static boolean competes(ResolvedRequest request, ResolvedRequest other) {
		return isExclusive(request) ? isExclusive(other) : request.hasTermsOf(other);
	}

	private static boolean isExclusive(ResolvedRequest request) {
		return request.resource().kind() == Kind.LOCK && request.permits() == Resource.ALL;
	}

	/** Return whether the place of a waiter is shared. */
	private boolean isShared(Waiter waiter) {
		return !waiter.bypassing && (isExclusive(waiter.request) || isHandedOver(waiter.request));
	}

	/** Return whether the permits of a request are handed over within this instance. */
	private boolean isHandedOver(ResolvedRequest request) {
		return this.resource.kind() == Kind.SEMAPHORE && this.handOver.isOn() && request.waits() && request.renewal()
				&& request.fair();
	}

	/** Remove and return the places without a waiter. */
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

	/** Open a place for a waiter. The place asks at once. */
	private Place open(Waiter waiter, long now) {
		long number = waiter.numberTaken ? this.queues.lastNumber.incrementAndGet() : waiter.number;
		waiter.numberTaken = true;
		Place place = new Place(Tokens.of(waiter.instanceId, number), waiter, isShared(waiter), this.event, now,
				this.context.store.reconnects());
		// From now on, an outage may end this waiter's wait.
		this.checkAt = earlier(this.checkAt, now + this.context.outagePatienceNanos);
		waiter.place = place;
		this.places.add(place);
		// Register the token before it is sent: a notification may be faster than this
		// thread.
		this.queues.addPlace(place.token(), this);
		return place;
	}

	// Commands

	private CompletableFuture<ReleaseReply> release(Hold hold, @Nullable Waiter next, long now) {
		CompletableFuture<ReleaseReply> answer = release(hold.toCommand(this.context.scheduler.nanoTime()),
				hold.doubtSince, next, now);
		// After the release is sent: a shutdown goes on when the last hold is gone.
		this.queues.renewer.stopRenewing(hold);
		return answer;
	}

	/**
	 * Release a token, and bring the next waiter into the store's queue by the same
	 * command.
	 * @return a future of the answer. It is completed after the next waiter has processed
	 * the answer, so that the waiter wakes up before the releasing caller
	 */
	private CompletableFuture<ReleaseReply> release(AcquireCommand ended, long doubtSince, @Nullable Waiter next,
			long now) {
		if (next == null) {
			return this.queues.releases.release(this.resource, ended, doubtSince, null);
		}
		Place place = open(next, now);
		// A separate future: cancelling this wait must not cancel the release.
		CompletableFuture<ReleaseReply> answer = new CompletableFuture<>();
		Question question = asked(place, answer, now);
		answer.whenComplete((reply, error) -> event(() -> onReleaseAnswer(place, question, reply, error)));
		return this.queues.releases.release(this.resource, ended, doubtSince, place.command)
			.whenComplete((reply, error) -> {
				if (error != null) {
					answer.completeExceptionally(error);
				}
				else if (!answer.complete(reply) && (reply.next() instanceof Granted || reply.next() instanceof Busy)) {
					// The token was brought in after its place was closed.
					this.queues.releases.releaseIfUnused(this.resource, place.command);
				}
			});
	}

	/** Add a question, and schedule the next one within half a claim. */
	private Question asked(Place place, CompletableFuture<?> answer, long now) {
		place.askAt = now + this.context.shortenRandomly(place.halfClaim);
		return place.onAsked(answer, now);
	}

	/**
	 * Send ACQUIRE, or request the comparison of the fleet's versions first. Earlier
	 * unanswered questions stay open and the first answer counts: otherwise a store that
	 * is slower than the time between two questions would never get an answer through.
	 */
	private void ask(Place place, long now) {
		boolean commandPending = place.hasOpenQuestion() && !this.context.isReached();
		if (commandPending || place.comparing) {
			// Not needed: the store will send the last command after the next connect.
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
		// Before the command is sent: this thread may learn of its answer late.
		CompletableFuture<?> releases = (!place.request.waits() && !place.repeated)
				? this.queues.releases.unanswered(this.resource) : null;
		CompletableFuture<AcquireReply> command = EngineContext
			.sendUnobserved(() -> this.context.store.acquire(this.resource, place.command, place.request.waits()));
		Question question = asked(place, command, now);
		command.whenComplete((reply, error) -> {
			event(() -> onAnswer(place, question, reply, error, releases));
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
		long fireAt = this.checkAt;
		for (Place place : this.places) {
			fireAt = earlier(fireAt, earlier(place.askAt, place.nextTimeoutAt(now, this.context.store.answerNanos())));
		}
		if (this.timer != null && this.timerAt - fireAt <= 0) {
			// The timer may fire too early, which costs one settling.
			return;
		}
		disarm();
		this.timerAt = fireAt;
		// A timer that was cancelled too late makes the settling set the timer anew.
		this.timer = this.context.scheduler.schedule(() -> event(this::disarm), fireAt - now);
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

	// Requests

	/** Process the arrival of an announced request. */
	void arrive(Waiter waiter) {
		event(() -> {
			this.arrived++;
			if (!waiter.instanceId.equals(this.context.instanceId())) {
				// The id has changed: another copy of this process may use the same
				// token.
				fail(waiter, waiter.notAcquired(Reason.SHUTDOWN, null));
			}
			// A request for several keys may be cancelled before this part arrives.
			else if (!waiter.result.isDone() && !nestOrRefuse(waiter)) {
				enqueue(waiter);
			}
		});
	}

	/**
	 * Grant a nested lease, or refuse the request.
	 * @return {@code false} if neither applies and the request must queue
	 */
	private boolean nestOrRefuse(Waiter waiter) {
		ResolvedRequest request = waiter.request;
		Hold own = null;
		boolean lostBefore = false;
		if (this.resource.kind() == Kind.LOCK) {
			List<Hold> enclosing = request.reentrant() ? waiter.enclosingHolds() : List.of();
			if (!this.holds.isEmpty() || !this.lost.isEmpty() || !enclosing.isEmpty()) {
				// Read the clock once: all holds are judged by the same time.
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
			// Also during a shutdown: the request is a part of work in flight.
			deliver(waiter, own.nest(waiter, this.context.scheduler.nanoTime()));
			return true;
		}
		RuntimeException why = null;
		if (this.context.isClosed()) {
			why = waiter.notAcquired(Reason.SHUTDOWN, null);
		}
		else if (lostBefore) {
			why = EngineExceptions.lostBefore(this.resource);
		}
		else if (own != null
				&& (request.reentrant() || request.waits() && (isExclusive(own.request) || isExclusive(request)))) {
			why = waiter.notAcquired(Reason.SELF_BLOCKED, null);
		}
		else if (request.waits() && this.queues.isFull(this.waiters.size())) {
			why = waiter.notAcquired(Reason.TOO_MANY_WAITERS, null);
		}
		else if (!mayTry(request)) {
			// An earlier request is queued, perhaps only because the store does not
			// answer.
			why = waiter.whyTimedOut(placeOf(waiter), this.context.scheduler.nanoTime());
		}
		if (why != null) {
			fail(waiter, why);
		}
		return why != null;
	}

	/** Return whether a request waits, or may ask the store at once. */
	private boolean mayTry(ResolvedRequest request) {
		if (request.waits() || isAboveLimit(request) || !request.fair() || isComparing()) {
			return true;
		}
		if (this.waiters.size() > this.places.size()) {
			// An earlier waiter still has no place.
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
	 * Return whether a request is for more permits than its limit, so that the store will
	 * refuse it.
	 */
	private static boolean isAboveLimit(ResolvedRequest request) {
		return request.isAboveLimit(request.permits());
	}

	/** Add a request to the queue. */
	private void enqueue(Waiter waiter) {
		waiter.tellBegin();
		waiter.arrivalEvent = this.event;
		long check = waiter.startedAt + Math.min(waiter.waitNanos(), this.context.outagePatienceNanos);
		this.checkAt = this.waiters.isEmpty() ? check : earlier(this.checkAt, check);
		this.waiters.add(waiter);
		this.queues.addWaiting(1);
		waiter.bypassing = !waiter.request.waits() || isAboveLimit(waiter.request)
				|| !waiter.request.fair() && this.places.size() < MAX_PLACES;
		if (waiter.bypassing) {
			open(waiter, waiter.arrivedAt);
		}
	}

	private void endWait(Waiter waiter, RuntimeException why) {
		Place place = waiter.place;
		if (place != null && place.trouble == null
				&& place.isSilent(this.context, this.context.scheduler.nanoTime(), waiter.waitNanos())) {
			this.context.observers.failed(Command.ACQUIRE);
		}
		this.queues.addWaiting(-1);
		fail(waiter, why);
	}

	/** Fail a waiter's result after the event, because waking up a thread takes time. */
	private void fail(Waiter waiter, RuntimeException why) {
		runAfterEvent(() -> waiter.result.completeExceptionally(why));
	}

	/** End a wait whose caller has gone. */
	void giveUp(Waiter waiter) {
		event(() -> {
			if (this.waiters.remove(waiter)) {
				endWait(waiter, waiter.notAcquired(Reason.INTERRUPTED, null));
			}
			else if (waiter.lease != null) {
				// The lease was granted. Its release begins in this event, or its thread
				// would get a nested lease on its next request.
				waiter.lease.discardAsync();
			}
		});
	}

	/**
	 * End overdue waits on behalf of a thread that has noticed that the timer is late.
	 */
	void endOverdue() {
		event(() -> this.checkAt = this.context.scheduler.nanoTime());
	}

	/**
	 * End all waits of an instance id because of a shutdown. Called in an event.
	 * @param instanceId the instance id of the waiters
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
	 * Return the waiters in the order of the queue.
	 * @return a future that is completed after earlier events
	 */
	CompletableFuture<List<Waiter>> waiters() {
		return CompletableFuture.supplyAsync(() -> List.copyOf(this.waiters), this::execute);
	}

	// Answers

	private void onAnswer(Place place, Question question, @Nullable AcquireReply reply, @Nullable Throwable error,
			@Nullable CompletableFuture<?> releases) {
		if (error != null) {
			onFailure(place, question, error);
		}
		else if (reply instanceof Busy && releases != null) {
			repeatBehind(releases, place, question);
		}
		else {
			onReply(place, question, Objects.requireNonNull(reply), HandOver.ASKED_AGAIN);
		}
	}

	/** Process the answer to the RELEASE that brought a place into the store's queue. */
	private void onReleaseAnswer(Place place, Question question, @Nullable ReleaseReply reply,
			@Nullable Throwable error) {
		if (error == null && reply != null && reply.next() != null) {
			onReply(place, question, reply.next(), HandOver.PASSED_ON);
		}
		else if (error != null && !EngineExceptions.isSilence(error)) {
			onFailure(place, question, error);
		}
		else {
			if (error == null) {
				place.onAnswered(question);
			}
			// After a timeout of the release, the answer for this place may still arrive.
			place.askAt = this.context.scheduler.nanoTime();
		}
	}

	private void onCompared(Place place, Question question, @Nullable Throwable error) {
		if (error != null) {
			place.comparing = false;
			onFailure(place, question, error);
			return;
		}
		place.onAnswered(question);
		if (place.comparing) {
			// All places ask in their order, not in the order of their answers; also a
			// place whose comparison has failed.
			long now = this.context.scheduler.nanoTime();
			this.places.stream().filter((other) -> other.comparing || other.trouble != null).forEach((other) -> {
				other.comparing = false;
				other.askAt = now;
			});
		}
	}

	/**
	 * Repeat the single question of a request without waiting that found the resource
	 * held, and was sent while releases of this instance were unanswered. After a
	 * reconnect, NOSCRIPT or a redirection, the question may have run before these
	 * releases. The question stays open until the releases are answered, so that the
	 * request fails with a failure of the store if they are not.
	 */
	private void repeatBehind(CompletableFuture<?> releases, Place place, Question question) {
		place.repeated = true;
		releases.thenRun(() -> event(() -> {
			if (!place.closed) {
				sendAcquire(place, this.context.scheduler.nanoTime());
				place.onAnswered(question);
			}
		}));
	}

	private void onReply(Place place, Question question, AcquireReply reply, HandOver way) {
		place.onAnswered(question);
		// A closed place needs no action: its RELEASE was sent after this question.
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

	/** End the wait of a place that the store has refused without queueing it. */
	private void refuse(Place place, RuntimeException why) {
		place.onRefused();
		endWait(place, why);
	}

	/** End the wait of a place. The place asks at once if it serves another waiter. */
	private void endWait(Place place, RuntimeException why) {
		Waiter waiter = waiterOf(place);
		place.askAt = this.context.scheduler.nanoTime();
		this.waiters.remove(waiter);
		endWait(waiter, why);
	}

	private void onBusy(Place place, Question question, Busy busy) {
		long now = this.context.scheduler.nanoTime();
		Busy former = this.lastBusy;
		this.lastBusy = busy;
		if (busy.foreign() && (former == null || !former.foreign())) {
			this.foreignSince = now;
		}
		if (!place.request.waits()) {
			refuse(place, timedOut(waiterOf(place)));
			return;
		}
		if (!place.busy) {
			// After the first answer, the deadline may be earlier.
			this.checkAt = earlier(this.checkAt, now);
		}
		place.onBusy(question, busy.fence());
		warnOfForeign(busy, now);
		if (busy.owner() != null && (former == null || !busy.owner().equals(former.owner()))) {
			// Look a new holder up in the background, for the message at the end of the
			// wait.
			this.context.holder(busy.owner());
		}
		long delay = this.context.shortenRandomly(place.halfClaim);
		if (busy.foreign() || !this.context.store.isListening()) {
			delay = Math.min(delay, this.context.retryDelay());
		}
		if (busy.ownerTtlMillis() >= 0) {
			// One more millisecond, as the store rounds down: the lease is over by then.
			delay = Math.min(delay, TimeUnit.MILLISECONDS.toNanos(busy.ownerTtlMillis() + 1));
		}
		place.askAt = now + delay;
	}

	/** Return the exception for a timeout, with the last known holder. */
	NotAcquiredException timedOut(Waiter waiter) {
		Busy busy = this.lastBusy;
		String owner = isHeldExclusively() ? this.context.instanceId() : (busy != null) ? busy.owner() : null;
		if (owner == null) {
			return EngineExceptions.timedOut(waiter.request, waiter.waitedNanos(), busy);
		}
		LockHolder holder = this.context.holder(owner);
		String heldBy = (holder != null && !holder.application().equals(InstanceInfo.UNKNOWN))
				? "application '" + holder.application() + "' on " + holder.host() + ", process " + holder.process()
				: "instance " + Tokens.shown(owner);
		String here = owner.equals(this.context.instanceId()) ? " (this instance" + holdingThread() + ")" : "";
		return EngineExceptions.timedOut(waiter.request, waiter.waitedNanos(), heldBy + here, holder);
	}

	private String holdingThread() {
		return this.holds.stream()
			.map((hold) -> hold.thread)
			.filter(Objects::nonNull)
			.findFirst()
			.map((thread) -> ", thread '" + SingleLine.of(thread.getName()) + "'")
			.orElse("");
	}

	/**
	 * Warn once if foreign clients hold the resource for longer than a lease time,
	 * because they do not notify waiters of their release. For keys without expiry, the
	 * store logs its own warning at once.
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
	 * Process the failure of a question. A waiting request goes on after a temporary
	 * failure, until the settling ends it because the store fails for too long. Any other
	 * failure ends the wait of this place, and no other wait.
	 */
	private void onFailure(Place place, Question question, Throwable error) {
		this.context.onAcquireFailed(this.resource, error);
		place.onFailed(question, this.context.store);
		if (place.closed || place.isSuperseded(question)) {
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
			endWait(place, waiterOf(place).storeTrouble(error));
		}
	}

	private void onGranted(Place place, Question question, Granted granted, HandOver way) {
		// After a forced release of the grant, the place has asked again.
		if (!place.isReleasedByForce(granted.fence())) {
			hold(place, granted, question.sentAt(), 0, way);
		}
	}

	// Notifications

	/**
	 * Process a notification of a grant by another command.
	 * @param ttlMillis the duration of the grant, or 0 if there is no grant or it is
	 * unconfirmed
	 * @param granted whether the token was granted anything
	 */
	void onNotified(String token, long fence, long ttlMillis, boolean granted) {
		event(() -> find(token).ifPresentOrElse((place) -> onNotified(place, fence, ttlMillis),
				() -> this.queues.onOtherToken(this.resource, token, fence, granted)));
	}

	/** Return the place of a token, or empty if an earlier event has removed it. */
	private Optional<Place> find(String token) {
		return this.places.stream().filter((place) -> place.token().equals(token)).findFirst();
	}

	private void onNotified(Place place, long fence, long ttlMillis) {
		if (!place.isOutdated(fence)) {
			// The grant was made after the last BUSY answer: measure its duration from
			// that time.
			hold(place, new Granted(fence, ttlMillis), place.grantedSince(),
					(TimeUnit.MILLISECONDS.toNanos(ttlMillis) - place.request.lossMarginNanos()) / 3,
					HandOver.WOKEN_UP);
		}
	}

	/**
	 * Process the forced release of a token, whose grant may not be known here yet.
	 * @param nextFence the fence below which the token's grants have ended
	 */
	void onForced(String token, long nextFence) {
		event(() -> find(token).ifPresentOrElse((place) -> {
			place.onForcedRelease(nextFence);
			place.askAt = this.context.scheduler.nanoTime();
		}, () -> this.queues.renewer.onTokenLost(token, nextFence, LeaseRenewer.FORCED)));
	}

	/** Ask again for all places, because notifications may have been missed. */
	void onListening() {
		event(() -> {
			long now = this.context.scheduler.nanoTime();
			this.places.forEach((place) -> place.askAt = now);
		});
	}

	// Holds

	/**
	 * Create the hold of a grant, for the first waiter that the place may serve. Ask
	 * again if too little of its time is left.
	 * @param sentAt the time before the grant
	 * @param least the time that must be left, in nanoseconds
	 */
	private void hold(Place place, Granted granted, long sentAt, long least, HandOver way) {
		long now = this.context.scheduler.nanoTime();
		if (sentAt + Hold.validity(granted.ttlMillis()) - place.request.lossMarginNanos() - now <= least) {
			place.askAt = now;
			return;
		}
		this.context.onAcquired(this.resource.kind());
		this.lastBusy = null;
		Waiter waiter = receiver(place);
		waiter.waitedForOthers = waiter.hasWaitedForOthersAt(place);
		long doubtSince = place.close(this.context.store);
		Hold hold = new Hold(waiter, place.token(), doubtSince, granted, sentAt, now);
		if (way != HandOver.ASKED_AGAIN || waiter.waitedForOthers) {
			waiter.tellHandedOver(way);
		}
		this.waiters.remove(waiter);
		this.queues.addWaiting(-1);
		add(hold);
		this.queues.renewer.startRenewing(hold);
		// Only after the hold is registered: otherwise a notification would find the
		// token unused.
		waiterOf(place).place = null;
		this.places.remove(place);
		this.queues.removePlace(place.token());
		deliver(waiter, hold.first);
	}

	/**
	 * Return the receiver of a grant. Of several shared places with the same terms, the
	 * first place has the first waiter.
	 */
	private Waiter receiver(Place granted) {
		if (granted.reservedFor == null) {
			for (Place place : this.places) {
				if (place == granted || place.mayServe(waiterOf(granted))) {
					return waiterOf(place);
				}
			}
		}
		return waiterOf(granted);
	}

	private void deliver(Waiter waiter, LeaseHandle lease) {
		waiter.lease = lease;
		// Later: waking up a thread takes longer than the rest, and must not delay other
		// events.
		runAfterEvent(() -> {
			if (!waiter.result.complete(lease)) {
				// The caller has cancelled. Release on another thread: if the next
				// callers have cancelled too, releasing here would recurse.
				this.context.call(lease::discardAsync);
			}
		});
	}

	/**
	 * Process the loss of a hold. Called in an event.
	 */
	void onHoldLost(Hold hold) {
		lose(hold);
		settle();
	}

	/**
	 * Release one lease, and the hold with its last lease. Called in an event.
	 * @param hold the hold of the lease
	 * @param used whether the lease reached its user
	 * @param result completed with the result of the release
	 */
	void releaseLease(Hold hold, LeaseHandle handle, boolean used, CompletableFuture<ReleaseResult> result) {
		long now = this.context.scheduler.nanoTime();
		if (!hold.close(handle, used, now)) {
			result.complete(hold.isHeld(now) ? ReleaseResult.RELEASED : ReleaseResult.LOST);
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
			// A shutdown has ended the hold; its lease expires in the store.
			settle();
			result.complete(ReleaseResult.LOST);
		}
		else if (held && hold.used && hold.minHoldLeft(now) > 0) {
			// The hold keeps other owners out until its minHold is over.
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
	 * Return the waiter that takes over a released hold by local hand-over, or
	 * {@code null}. Only the first waiter may take over, if it has the same terms, and
	 * the limits of local hand-overs and the state of the hold allow it.
	 */
	private @Nullable Waiter heir(Hold hold, long now) {
		if (this.context.isClosed()) {
			return null;
		}
		for (Waiter first : this.waiters) {
			if (!first.bypassing) {
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

	/**
	 * Hand a released hold over to a waiter of this instance. The waiter's place serves
	 * the next waiter.
	 */
	private void handOver(Hold hold, Waiter heir, long now) {
		this.waiters.remove(heir);
		this.queues.addWaiting(-1);
		heir.waitedForOthers = true;
		heir.tellHandedOver(HandOver.LOCAL);
		Hold next = new Hold(heir, hold, now);
		add(next);
		this.queues.renewer.startRenewing(next);
		deliver(heir, next.first);
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

	/** Remove a lost hold, but remember it until its thread learns of the loss. */
	private void lose(Hold hold) {
		remove(hold);
		if (this.resource.kind() == Kind.LOCK && hold.mustTellThread()) {
			this.lost = this.lost.isEmpty() ? new LinkedHashSet<>() : this.lost;
			this.lost.add(hold);
		}
	}

	/** Return whether this instance holds the lock exclusively. */
	private boolean isHeldExclusively() {
		return this.resource.kind() == Kind.LOCK && this.permits >= Resource.ALL;
	}

	/**
	 * Return the holds that affect a thread: its own holds, or the exclusive hold of any
	 * thread.
	 */
	private Set<Hold> holdsFor(@Nullable Thread thread) {
		return isHeldExclusively() ? this.holds
				: (thread != null) ? this.readers.getOrDefault(thread, Set.of()) : Set.of();
	}

	/** Return the expired holds that block a thread. */
	private List<Hold> expired(@Nullable Thread thread, long now) {
		return holdsFor(thread).stream()
			.filter((hold) -> (!hold.request.reads() || hold.isReentrantFor(thread)) && !hold.isHeld(now))
			.toList();
	}

	/** Return the valid hold of a thread or of its request's context, or {@code null}. */
	private @Nullable Hold own(@Nullable Thread thread, List<Hold> enclosing, long now) {
		Stream<Hold> ofThread = holdsFor(thread).stream().filter((hold) -> hold.isReentrantFor(thread));
		Stream<Hold> ofContext = enclosing.stream().filter((hold) -> hold.isHeld(now));
		return Stream.concat(ofThread, ofContext).findFirst().orElse(null);
	}

	/**
	 * Return whether a thread has a lost hold, or its request's context has a lost lease.
	 */
	private boolean hasLost(@Nullable Thread thread, List<Hold> enclosing, long now) {
		return this.lost.stream().anyMatch((hold) -> hold.isReentrantFor(thread))
				|| enclosing.stream().anyMatch((hold) -> !hold.isHeld(now) && hold.isRenewed());
	}

	// Assertions

	/** A wait that is over at its arrival is checked after a pause. */
	private boolean isCheckedInTime(Waiter waiter) {
		long deadline = later(waiter.endsAt(), this.context.scheduler.nanoTime());
		return this.checkAt - deadline <= pause();
	}

	private boolean isSettled() {
		boolean prefix = true;
		int placed = 0;
		long last = -1;
		for (Waiter waiter : this.waiters) {
			Place place = waiter.place;
			assert waiter.arrivalEvent >= last : waiter + " is out of order";
			last = waiter.arrivalEvent;
			if (place != null) {
				placed++;
				assert place.waiter == waiter : waiter + " at " + place;
				assert prefix || waiter.bypassing : waiter + " has passed another one";
			}
			else if (prefix) {
				prefix = false;
				assert !waiter.bypassing && !fits(waiter, List.of(), 0) : waiter + " lacks a place";
			}
			assert isCheckedInTime(waiter) : waiter + " has a deadline before " + this.checkAt;
		}
		assert placed == this.places.size() : this.places + " are not those of " + this.waiters;
		for (Place place : this.places) {
			assert place.waiter != null && place.waiter.place == place && this.waiters.contains(place.waiter) : place;
			assert !place.closed && this.queues.ofPlace(place.token()) == this : place + " is not known";
		}
		assert this.holds.size() > MAX_COUNTED || this.permits == this.holds.stream().mapToLong(Hold::permits).sum();
		assert this.waiters.isEmpty() == (this.timer == null) : "a timer for " + this.waiters;
		return true;
	}

}
