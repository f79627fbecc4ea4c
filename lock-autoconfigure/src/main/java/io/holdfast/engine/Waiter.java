package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * A request for one resource, and its result. Its state in the {@link ResourceQueue} is
 * confined to the events of the queue; its public methods are thread-safe.
 */
final class Waiter implements PendingAcquisition {

	/** The context of most requests. */
	private static final LeaseContext NO_LEASES = LeaseContext.empty();

	final ResourceQueue queue;

	private final EngineContext context;

	/** The id of the instance at the arrival of the request. */
	final String instanceId;

	/** Number of the request within its instance. */
	final long number;

	final ResolvedRequest request;

	final @Nullable Thread thread;

	private final LeaseContext leaseContext;

	/** Observes the request, or the whole that it is a part of. */
	final @Nullable RequestObservation observation;

	/**
	 * Whether it is one part of a request for several keys, which has the observation.
	 */
	final boolean part;

	/** Begin of this request. */
	final long arrivedAt;

	/** Start of the wait: of several keys, of the wait for the first. */
	final long startedAt;

	/** Latest end of the wait: there is time for a first answer. */
	private final long endsAt;

	/** The lease, or the reason for its absence. Completed by the first outcome. */
	final CompletableFuture<LeaseHandle> result = new CompletableFuture<>();

	// State in the queue

	/** The event in which it arrived. */
	long event;

	/** Number of the newest question at its arrival. */
	long askedBefore;

	/** Whether it stands in the queue. */
	boolean waiting;

	/**
	 * Whether it has a place from its arrival on, blocks no waiter and is not blocked.
	 */
	boolean aside;

	/** Whether a place has taken its number. */
	boolean numberTaken;

	/** Its reserved place, or the shared one that serves it in the present order. */
	volatile @Nullable Place place;

	/** Its lease, whether or not the caller is still there. */
	@Nullable LeaseHandle lease;

	/** Whether it, or an earlier part, had to wait for others; of itself once granted. */
	volatile boolean metOthers;

	Waiter(ResourceQueue queue, String instanceId, long number, ResolvedRequest request, @Nullable Thread thread,
			LeaseContext leaseContext, @Nullable Whole whole, @Nullable RequestObservation observation) {
		this.queue = queue;
		this.context = queue.context();
		this.instanceId = instanceId;
		this.number = number;
		this.request = request;
		this.thread = thread;
		this.leaseContext = leaseContext;
		this.part = whole != null;
		this.metOthers = whole != null && whole.metOthers();
		this.observation = observation;
		this.arrivedAt = this.context.scheduler.nanoTime();
		this.startedAt = (whole != null) ? whole.startedAt() : this.arrivedAt;
		this.endsAt = this.startedAt + Math.max(waitNanos(), EngineContext.FIRST_ANSWER_NANOS);
	}

	/** Return whether others were before it, or it waited here before its place asked. */
	boolean hasMetOthersAt(Place own) {
		return own.busy || own.event > this.event || this.metOthers;
	}

	/**
	 * Return the longest wait: for one answer, if the request does not wait for others.
	 */
	long waitNanos() {
		return this.request.waits() ? this.request.waitNanos() : this.context.commandTimeoutNanos;
	}

	/** Return the number of its place in the store or, without one, its own. */
	public long numberInStore() {
		Place own = this.place;
		return (own != null) ? Tokens.number(own.token()) : this.number;
	}

	/** Return for how long it has waited, in nanoseconds. */
	public long waitedNanos() {
		return this.context.scheduler.nanoTime() - this.startedAt;
	}

	/** Return the exception for a wait in vain. */
	public NotAcquiredException notAcquired(Reason reason, @Nullable Throwable cause) {
		return EngineExceptions.notAcquired(this.request, reason, waitedNanos(), cause);
	}

	/** Return the exception for trouble with the store. */
	public LeaseStoreException storeTrouble(@Nullable Throwable error) {
		return EngineExceptions.storeTrouble(this.request.resource(), waitedNanos(), error);
	}

	/** Return the holds of its key that have open leases in its lease context. */
	List<Hold> enclosingHolds() {
		if (this.leaseContext == NO_LEASES) {
			return List.of();
		}
		// Mostly there are none, and nothing is made for them.
		List<Hold> found = List.of();
		for (Lease lease : this.leaseContext.leases(this.request.resource().key())) {
			for (Hold hold : (lease instanceof EngineLease own) ? own.openHolds() : List.<Hold>of()) {
				if (hold.queue.context() == this.context && hold.resource().equals(this.request.resource())
						&& !found.contains(hold)) {
					found = found.isEmpty() ? new ArrayList<>(2) : found;
					found.add(hold);
				}
			}
		}
		return found;
	}

	/** Tell the observation that the request begins, as it is not a nested one. */
	void tellBegin() {
		if (this.observation != null) {
			this.observation.begin();
		}
	}

	/** Tell the observation that it waited for others, before it is granted. */
	void tellHandedOver(HandOver way) {
		if (this.observation != null) {
			this.observation.handedOver(way);
		}
	}

	/**
	 * Complete the result without a lease.
	 * @return false if the wait had ended
	 */
	boolean fail(RuntimeException why) {
		return this.result.completeExceptionally(why);
	}

	// Its end in vain. Each rule is about its place: the one that serves it or, if none
	// does, the first one before it. Without any it waits for a hold of this instance.

	/** Return why it is over, or {@code null} if it is not. */
	@Nullable RuntimeException whyOver(@Nullable Place at, long now) {
		if (now - deadline(at) >= 0) {
			return whyTimedOut(at, now);
		}
		if (!this.request.waits() || at == null || at.busy) {
			return null;
		}
		long unreached = this.context.store.unreachedNanos();
		if (unreached > 0
				&& now - ResourceQueue.later(this.startedAt, now - unreached) >= this.context.outagePatienceNanos) {
			return storeTrouble(unreached());
		}
		Throwable trouble = at.trouble;
		if (trouble == null || EngineExceptions.isWorthWaiting(trouble)) {
			return null;
		}
		long since = ResourceQueue.later(this.arrivedAt, at.firstAskedAt);
		if (unreached > 0) {
			since = ResourceQueue.later(since, now - unreached);
		}
		return (at.failedAt - since >= this.context.outagePatienceNanos) ? storeTrouble(trouble) : null;
	}

	/** Return a time before which it is not over, unless a failure comes. */
	long lookAgainAt(@Nullable Place at, long now) {
		long unreached = this.context.store.unreachedNanos();
		long outageEndsAt = ResourceQueue.later(this.startedAt, now - unreached) + this.context.outagePatienceNanos;
		if (unreached == 0 || outageEndsAt - now <= 0) {
			// The connection may be lost at any time from now on.
			outageEndsAt = now
					+ Math.max(this.context.outagePatienceNanos, this.context.settings.retryInterval().toNanos());
		}
		return ResourceQueue.earlier(deadline(at), outageEndsAt);
	}

	/**
	 * Return the deadline. It leaves time for one answer: without one, nothing is known.
	 */
	private long deadline(@Nullable Place at) {
		return (at != null && at.isAwaitingFirst()) ? this.endsAt : this.startedAt + waitNanos();
	}

	/** Return the reason at the deadline: another holder, or the store. */
	RuntimeException whyTimedOut(@Nullable Place at, long now) {
		if (at == null) {
			return this.queue.timedOut(this);
		}
		boolean metNothing = at == this.place && !hasMetOthersAt(at);
		if (metNothing || at.isSilent(this.context, now, waitNanos())) {
			return storeTrouble(at.reason());
		}
		// The holder may be this instance, whose release has failed.
		Throwable trouble = this.queue.releases().failure(this.request.resource());
		return (trouble != null) ? storeTrouble(trouble) : this.queue.timedOut(this);
	}

	private StoreCommandException unreached() {
		StoreCommandException unreached = StoreCommandException.unreached(this.context.settings.outagePatience());
		return this.context.isAdmitted() ? unreached : StoreCommandException.notCompared(unreached);
	}

	// As a wait

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
		// As the late timer would: the queue knows the reason.
		this.queue.endOverdue();
		abandon(storeTrouble(null));
	}

	private void abandon(RuntimeException why) {
		if (fail(why)) {
			this.queue.giveUp(this);
		}
	}

	@Override
	public @Nullable RequestObservation observation() {
		return this.observation;
	}

	@Override
	public String toString() {
		return "Waiter[" + this.number + "]";
	}

	/**
	 * The request for several keys that a waiter is one part of.
	 *
	 * @param startedAt the start of the wait for the first part
	 * @param metOthers whether an earlier part had to wait for others
	 */
	record Whole(long startedAt, boolean metOthers) {
	}

}
