package io.holdfast.engine.queue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.EngineLease;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.lease.LeaseHandle;
import io.holdfast.engine.lease.PendingAcquisition;
import io.holdfast.engine.observe.RequestObservation;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The wait of one request as its caller sees it: the result, the thread that waits for
 * it, and the ends that come from outside. Its public methods are thread-safe.
 */
abstract class RequestWait implements PendingAcquisition {

	/** The context of most requests. */
	private static final LeaseContext NO_LEASES = LeaseContext.empty();

	final EngineContext context;

	public final ResolvedRequest request;

	public final @Nullable Thread thread;

	/** Under which leases it asks. */
	private final LeaseContext leaseContext;

	/** Observes the request that it belongs to, or {@code null}. */
	final @Nullable RequestObservation observation;

	/** Whether it is one part of an acquisition, which has the observation. */
	private final boolean part;

	private final long startedAt;

	/** Until when it waits: long enough for a first answer. */
	private final long endsAt;

	/** The lease, or why there is none. Completed by the first outcome. */
	final CompletableFuture<LeaseHandle> result = new CompletableFuture<>();

	/**
	 * The count of answers when it came, if it stands behind the first question; or -1.
	 */
	private long behindFirstQuestion = -1;

	/** The number of the last request sent before it came. */
	private long lastSentBefore;

	/**
	 * Create the wait of a request.
	 * @param context the surroundings of the instance
	 * @param request what is asked for
	 * @param thread the thread that asks, or {@code null} if it is asynchronous
	 * @param leaseContext the leases under which it asks
	 * @param observation observes the request, or {@code null}
	 * @param part whether it is one part of an acquisition
	 * @param startedAt when the wait began
	 */
	RequestWait(EngineContext context, ResolvedRequest request, @Nullable Thread thread, LeaseContext leaseContext,
			@Nullable RequestObservation observation, boolean part, long startedAt) {
		this.context = context;
		this.request = request;
		this.thread = thread;
		this.leaseContext = leaseContext;
		this.observation = observation;
		this.part = part;
		this.startedAt = startedAt;
		this.endsAt = startedAt + Math.max(request.waitNanos(), EngineContext.FIRST_ANSWER_NANOS);
	}

	/** Return whether it is one part of an acquisition, which has the observation. */
	public final boolean isPart() {
		return this.part;
	}

	/** Have the coordinator end the wait, as its caller does not wait any more. */
	abstract void giveUp();

	/** Have the coordinator end the wait if its time is over. */
	abstract void lookAtTime();

	NotAcquiredException notAcquired(Reason reason) {
		return notAcquired(reason, null);
	}

	/** Return the exception for a wait in vain. */
	public NotAcquiredException notAcquired(Reason reason, @Nullable Throwable cause) {
		return EngineExceptions.notAcquired(this.request, reason, waitedNanos(), cause);
	}

	/** Return the exception for trouble with the store. */
	public LeaseStoreException storeTrouble(@Nullable Throwable error) {
		return EngineExceptions.storeTrouble(this.request.resource(), waitedNanos(), error);
	}

	/** Return what is asked for. */
	public final ResolvedRequest request() {
		return this.request;
	}

	/** Return the thread that asks, or {@code null} if it is asynchronous. */
	public final @Nullable Thread thread() {
		return this.thread;
	}

	@Override
	public final @Nullable RequestObservation observation() {
		return this.observation;
	}

	/**
	 * Return the holds on its own key that have open leases in the lease context that it
	 * asks within.
	 */
	List<Hold> enclosingHolds() {
		Resource around = this.request.resource();
		if (!this.request.reentrant() || this.leaseContext == NO_LEASES) {
			return List.of();
		}
		// Mostly there are none, and nothing is made for them.
		List<Hold> found = List.of();
		for (Lease lease : this.leaseContext.leases(around.key())) {
			for (Hold hold : openHolds(lease)) {
				if (hold.coordinator.context() == this.context && hold.resource().equals(around)
						&& !found.contains(hold)) {
					found = (found.isEmpty()) ? new ArrayList<>(2) : found;
					found.add(hold);
				}
			}
		}
		return found;
	}

	private static List<Hold> openHolds(Lease lease) {
		return (lease instanceof EngineLease own) ? own.openHolds() : List.of();
	}

	/** Tell the observation that the request begins, as it is not a nested one. */
	final void tellBegin() {
		RequestObservation observing = this.observation;
		if (observing != null) {
			observing.begin();
		}
	}

	/** End the wait with a lease, unless it has ended. */
	final boolean succeed(LeaseHandle lease) {
		RequestObservation own = ownObservation();
		return (own != null) ? own.complete(this.result, lease) : this.result.complete(lease);
	}

	/** End the wait in vain, unless it has ended. */
	boolean fail(RuntimeException why) {
		RequestObservation own = ownObservation();
		return (own != null) ? own.completeExceptionally(this.result, why) : this.result.completeExceptionally(why);
	}

	/** Return what observes it; not of a part, whose outcome is not that of the whole. */
	final @Nullable RequestObservation ownObservation() {
		return isPart() ? null : this.observation;
	}

	/** Return for how long it has waited, in nanoseconds. */
	public final long waitedNanos() {
		return this.context.scheduler.nanoTime() - this.startedAt;
	}

	@Override
	public CompletableFuture<LeaseHandle> result() {
		return this.result;
	}

	@Override
	public long endsAt() {
		return this.endsAt;
	}

	@Override
	public void interrupt(@Nullable InterruptedException cause) {
		abandon(notAcquired(Reason.INTERRUPTED, cause));
	}

	@Override
	public void endOverdue() {
		// As the timer would do that is late: the coordinator knows who was in the way.
		lookAtTime();
		abandon(storeTrouble(null));
	}

	/** End the wait from outside, unless it has ended already. */
	private void abandon(RuntimeException why) {
		if (fail(why)) {
			giveUp();
		}
	}

	/**
	 * Note that it stands behind a waiter that awaits the store's first answer.
	 * @param answerCount how many answers of the store have told who has the key
	 */
	final void markBehindFirstQuestion(long answerCount) {
		this.behindFirstQuestion = answerCount;
	}

	/**
	 * Return whether it has waited in the queue for nothing but the store's first answer.
	 * @param answerCount how many answers of the store have told who has the key, by now
	 */
	final boolean isBehindFirstQuestion(long answerCount) {
		return this.behindFirstQuestion == answerCount;
	}

	/** Return whether it has waited so for too long: its own question would fail, too. */
	final boolean isOutOfPatience(long answerCount) {
		return isBehindFirstQuestion(answerCount) && waitedNanos() >= this.context.settings.outagePatience().toNanos();
	}

	/** Note the number of the last request sent before it came. */
	final void setLastSentBefore(long number) {
		this.lastSentBefore = number;
	}

	final long lastSentBefore() {
		return this.lastSentBefore;
	}

	/** Return when the wait began. */
	final long startedAt() {
		return this.startedAt;
	}

}
