package io.holdfast.engine.queue;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.context.SerialExecutor;
import io.holdfast.engine.lease.LeaseHandle;
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
 * The half of a coordinator that coordinates waiters: it lets them queue in this
 * instance, contend in the store, and give up. The other half,
 * {@link ResourceCoordinator}, turns their grants into holds. Confined to the events of
 * the coordinator, but for {@link #execute}, {@link #waiters}, {@link #addUser} and
 * {@link #removeUser}.
 */
abstract class WaiterCoordinator extends SerialExecutor implements Waiter.WaiterHost {

	private static final Log logger = LogFactory.getLog(WaiterCoordinator.class);

	private static final Set<Waiter> NO_WAITERS = Set.of();

	final EngineContext context;

	final CoordinatorParts parts;

	final Resource resource;

	/** Created for the first waiter: mostly there is none. */
	Set<Waiter> queue = NO_WAITERS;

	/** Few: a list is small. */
	final List<Waiter> contending = new ArrayList<>(1);

	/** How many answers of the store have told who has the resource. */
	private long answerCount;

	/** Whether the holder is foreign: one that hands nothing over. */
	private boolean heldByForeign;

	private long heldByForeignSince;

	private boolean warnedOfForeign;

	/** Last BUSY answer, unless the store has granted something since. */
	private @Nullable Busy lastBusy;

	/**
	 * How many waiters and holds need this coordinator, from its first waiter on. Guarded
	 * by the map of the coordinators.
	 */
	private int users = 1;

	WaiterCoordinator(CoordinatorParts parts, Resource resource) {
		super(resource, parts.context().callbacks);
		this.context = parts.context();
		this.parts = parts;
		this.resource = resource;
	}

	@Override
	public final Resource resource() {
		return this.resource;
	}

	@Override
	public final EngineContext context() {
		return this.context;
	}

	/** Note that one more waiter needs this coordinator. */
	final void addUser() {
		this.users++;
	}

	/** Note that a waiter or a hold needs it no more, and return whether nothing does. */
	final boolean removeUser() {
		return --this.users == 0;
	}

	// By kind of resource

	/** Return whether this instance holds it exclusively. */
	boolean isHeldHere() {
		return false;
	}

	/** Return whether a waiter may contend beside those that do already. */
	abstract boolean admits(Waiter waiter);

	/**
	 * Return whether a RELEASE that is about to be sent may bring a waiter into the
	 * store.
	 * @param waiter the first in the queue
	 * @param released how many permits it releases, which are not counted any more
	 */
	boolean mayFollow(Waiter waiter, int released) {
		return admits(waiter);
	}

	/**
	 * Return whether a contender that gives up passes its place in the store's queue on
	 * to the next waiter here, which has none of its own.
	 */
	boolean passesPlaceOn(ResolvedRequest request) {
		return false;
	}

	@Override
	public Waiter receiverOfGrant(Waiter waiter) {
		return waiter;
	}

	// Waiting and contending

	/**
	 * Let a waiter contend.
	 * @return its contender, which has sent nothing yet
	 */
	final Contender contend(Waiter waiter) {
		boolean waited = dequeue(waiter);
		// Before anything names its token: a wake-up may be faster than this thread.
		Contender contender = this.parts.registry().addContender(this, waiter);
		this.contending.add(waiter);
		waiter.beginContending(contender, waited, this.answerCount);
		return contender;
	}

	/** Contend no more; return whether the waiter did. */
	final boolean stopContending(Waiter waiter) {
		return this.contending.remove(waiter);
	}

	final void enqueue(Waiter waiter) {
		if (this.queue == NO_WAITERS) {
			this.queue = new LinkedHashSet<>();
		}
		this.queue.add(waiter);
		this.parts.registry().addQueued(1);
		boolean nothingKnown = !this.contending.isEmpty() && !this.contending.get(0).hasMetOthers();
		if (nothingKnown && !waiter.hasMetOthers()) {
			waiter.markBehindFirstQuestion(this.answerCount);
		}
		waiter.beginQueueing();
	}

	final boolean dequeue(Waiter waiter) {
		boolean waited = !this.queue.isEmpty() && this.queue.remove(waiter);
		if (waited) {
			this.parts.registry().addQueued(-1);
		}
		return waited;
	}

	/**
	 * Return whether no further request may wait. Each takes memory and perhaps a thread:
	 * too many would take the application down.
	 */
	final boolean isFull() {
		return this.queue.size() + this.contending.size() >= this.context.settings.maxWaitersPerKey()
				|| this.parts.registry().waiting() >= this.context.settings.maxWaiters();
	}

	final @Nullable Waiter head() {
		return this.queue.isEmpty() ? null : this.queue.iterator().next();
	}

	/** Pass a waiter's place in the store to the next one here, if it asks alike. */
	final boolean tryPassPlace(Waiter leaving) {
		Waiter head = head();
		if (head == null || !head.request.isLike(leaving.request)) {
			return false;
		}
		dequeue(head);
		stopContending(leaving);
		this.contending.add(head);
		head.takeOverPlaceOf(leaving);
		return true;
	}

	/** Let the waiters contend that may. */
	final void advance() {
		for (Waiter head = head(); head != null && admits(head); head = head()) {
			contend(head).sendAcquire();
		}
	}

	@Override
	public final boolean isComparing() {
		return !this.contending.isEmpty() && this.contending.get(0).contender().answers().isComparing();
	}

	@Override
	public final void onCompared(@Nullable Throwable error) {
		// Requests that do not wait are in the queue for the comparison only.
		endQueued((waiter) -> !waiter.request.waits(),
				(waiter) -> (error != null) ? waiter.storeTrouble(error) : timedOut(waiter));
	}

	@Override
	public final void noteOwner(Busy busy) {
		this.lastBusy = busy;
	}

	@Override
	public final void onBusy(Busy busy) {
		this.answerCount++;
		long now = this.context.scheduler.nanoTime();
		if (busy.foreign() && !this.heldByForeign) {
			this.heldByForeignSince = now;
		}
		this.heldByForeign = busy.foreign();
		if (this.heldByForeign && !this.warnedOfForeign) {
			warnOfForeign(busy, TimeUnit.NANOSECONDS.toMillis(now - this.heldByForeignSince));
		}
	}

	/**
	 * Warn, once, if foreign holders have had the resource for longer than a lease time:
	 * nothing tells a waiter when they release it. Of keys without expiry the store warns
	 * at once.
	 */
	private void warnOfForeign(Busy busy, long millis) {
		if (busy.ownerTtlMillis() >= 0 && millis >= this.context.settings.leaseTime().toMillis()) {
			this.warnedOfForeign = true;
			logger.warn("For " + millis + " ms, " + this.resource + " has been held by a client other than Holdfast; "
					+ (this.queue.size() + this.contending.size()) + " requests wait for it here. Its lease ends in "
					+ busy.ownerTtlMillis()
					+ " ms if it is not renewed; find out who holds it, or release it by force");
		}
	}

	/** Note that the store has granted something: the holder is not foreign. */
	final void onStoreGrant() {
		this.answerCount++;
		this.heldByForeign = false;
		this.lastBusy = null;
	}

	// Ends without a grant

	@Override
	public final NotAcquiredException timedOut(Waiter waiter) {
		Busy busy = this.lastBusy;
		String owner = isHeldHere() ? this.context.instanceId() : (busy != null) ? busy.owner() : null;
		return this.context.timedOut(waiter.request, waiter.waitedNanos(), owner, busy != null && busy.foreign());
	}

	@Override
	public final void refuse(Waiter waiter, RuntimeException exception) {
		tellFailed(waiter, exception);
		if (waiter.contender().answers().isDoubtful()) {
			// It asked more than once, and may be granted it yet.
			withdraw(waiter, waiter.contender().isStoreSilent(this.context.scheduler.nanoTime()));
			return;
		}
		// The store has not queued it: there is nothing to release.
		endWait(waiter);
		advance();
	}

	@Override
	public final void timeOut(Waiter waiter) {
		boolean contends = waiter.is(Waiter.WaitState.CONTENDING);
		if (!contends && this.contending.isEmpty()) {
			// It waits for a holder here, and not for the store.
			fail(waiter, timedOut(waiter));
			return;
		}
		Contender asking = (contends ? waiter : this.contending.get(0)).contender();
		boolean metNothing = contends && !waiter.hasMetOthers();
		boolean waitedForStore = metNothing || asking.isStoreSilent(this.context.scheduler.nanoTime());
		// The holder may be this instance, whose release has failed.
		Throwable trouble = waitedForStore ? asking.answers().trouble() : this.parts.releases().failure(this.resource);
		fail(waiter, (waitedForStore || trouble != null) ? waiter.storeTrouble(trouble) : timedOut(waiter));
	}

	@Override
	public final void failByStore(Waiter waiter, Throwable error) {
		if (EngineExceptions.isTemporary(error)) {
			endQueued((next) -> next.isOutOfPatience(this.answerCount), (next) -> next.storeTrouble(error));
		}
		fail(waiter, waiter.storeTrouble(error));
	}

	@Override
	public final void fail(Waiter waiter, RuntimeException exception) {
		tellFailed(waiter, exception);
		giveUp(waiter);
	}

	/** End a wait after the event: waking a thread takes its time. */
	private void tellFailed(Waiter waiter, RuntimeException exception) {
		later(() -> waiter.fail(exception));
	}

	@Override
	public final void giveUp(Waiter waiter) {
		LeaseHandle lease = waiter.lease();
		if (waiter.is(Waiter.WaitState.QUEUED)) {
			dequeue(waiter);
			endWait(waiter);
			// Others may have waited behind it only.
			advance();
		}
		else if (waiter.is(Waiter.WaitState.CONTENDING)) {
			Contender contender = waiter.contender();
			boolean silent = contender.isStoreSilent(this.context.scheduler.nanoTime());
			if (!silent && contender.answers().isBusy() && passesPlaceOn(waiter.request) && tryPassPlace(waiter)) {
				endWait(waiter);
				advance();
			}
			else {
				withdraw(waiter, silent);
			}
		}
		else if (lease != null) {
			// It was granted. At once: its thread would re-enter by it if it asks again.
			lease.discard();
		}
	}

	private void withdraw(Waiter waiter, boolean silent) {
		Contender contender = waiter.contender();
		endWait(waiter);
		if (contender.answers().isNamed()) {
			releaseToken(contender.command, contender.answers().doubtSince(), 0);
		}
		else {
			advance();
		}
		if (silent) {
			this.contending.stream()
				.map((next) -> next.contender())
				.filter((next) -> next.answers().isAwaitingFirst())
				.forEach((next) -> next.answers().inheritSilence(contender.answers()));
		}
	}

	private void endWait(Waiter waiter) {
		boolean contended = stopContending(waiter);
		waiter.endUngranted();
		if (contended) {
			this.parts.registry().removeContender(waiter.contender().token);
		}
		this.parts.registry().removeUser(this.resource);
	}

	/** Send the RELEASE of a token, which brings in the next waiter if that may be. */
	final CompletableFuture<ReleaseReply> releaseToken(AcquireCommand ended, long doubtSince, int released) {
		Waiter head = head();
		// An instance that is not admitted must not be granted anything by its releases.
		Contender next = (head != null && this.context.isAdmitted() && mayFollow(head, released)) ? contend(head)
				: null;
		long sentAt = this.context.scheduler.nanoTime();
		CompletableFuture<ReleaseReply> outcome = this.parts.releases()
			.release(this.resource, ended, doubtSince, (next != null) ? next.command : null);
		if (next != null) {
			outcome = next.follow(outcome, sentAt);
		}
		advance();
		return outcome;
	}

	/**
	 * Return the waiters here, for the store's answer or in the queue.
	 * @return completed when events before it have run
	 */
	final CompletableFuture<List<Waiter>> waiters() {
		CompletableFuture<List<Waiter>> answer = new CompletableFuture<>();
		execute(() -> answer.complete(Stream.concat(this.contending.stream(), this.queue.stream()).toList()));
		return answer;
	}

	@Override
	public final @Nullable CompletableFuture<?> unansweredReleases() {
		return this.parts.releases().unanswered(this.resource);
	}

	@Override
	public final void releaseIfOver(AcquireCommand ended) {
		this.parts.releases().releaseIfOver(this.resource, ended);
	}

	/**
	 * End all waits of an instance id, as nothing is granted any more.
	 * @param instanceId of which waiters
	 */
	public final void endWaits(String instanceId) {
		Predicate<Waiter> ended = (waiter) -> waiter.isOf(instanceId);
		endQueued(ended, (waiter) -> waiter.notAcquired(Reason.SHUTDOWN));
		for (Waiter waiter : List.copyOf(this.contending)) {
			if (ended.test(waiter)) {
				fail(waiter, waiter.notAcquired(Reason.SHUTDOWN));
			}
		}
	}

	private void endQueued(Predicate<Waiter> ended, Function<Waiter, RuntimeException> why) {
		List<Waiter> waiters = this.queue.stream().filter(ended).toList();
		waiters.forEach(this::dequeue);
		waiters.forEach((waiter) -> {
			tellFailed(waiter, why.apply(waiter));
			endWait(waiter);
		});
	}

}
