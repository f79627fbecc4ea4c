package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;

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
 * A request for one resource, and its result. State of the {@link ResourceQueue} is
 * confined to the events of the queue. The public methods are thread-safe.
 */
final class Waiter extends PendingAcquisition<LeaseHandle> {

	/** Context of most requests. */
	private static final LeaseContext NO_LEASES = LeaseContext.empty();

	final ResourceQueue queue;

	/** Id of the instance at the arrival of the request. */
	final String instanceId;

	/** Number of the request within its instance. */
	final long number;

	final ResolvedRequest request;

	/**
	 * Whether this waiter is a part of a request for several keys.
	 */
	final boolean multiKeyPart;

	/** Time of arrival. */
	final long arrivedAt;

	/**
	 * Start of the wait. For a part of a request for several keys, start of the wait for
	 * the first key.
	 */
	final long startedAt;

	/** Latest end of the wait. Leaves time for a first answer of the store. */
	private final long endsAt;

	// State in the queue

	/** Number of the event of the arrival. */
	long arrivalEvent;

	/**
	 * Whether this waiter bypasses the queue: it has a reserved place from its arrival
	 * on, neither blocking other waiters nor blocked by them.
	 */
	boolean bypassing;

	/** Whether a place has used this waiter's number. */
	boolean numberTaken;

	/** Reserved place, or the shared place that serves this waiter now. */
	volatile @Nullable Place place;

	/** Lease of this waiter, even if the caller has gone. */
	@Nullable LeaseHandle lease;

	/**
	 * Whether this request, or an earlier part, had to wait for other owners. Set at the
	 * grant.
	 */
	volatile boolean waitedForOthers;

	Waiter(ResourceQueue queue, String instanceId, long number, ResolvedRequest request, @Nullable Thread thread,
			LeaseContext leaseContext, @Nullable MultiKeyProgress multiKey, @Nullable RequestObservation observation) {
		super(queue.context, thread, leaseContext, observation);
		this.queue = queue;
		this.instanceId = instanceId;
		this.number = number;
		this.request = request;
		this.multiKeyPart = multiKey != null;
		this.waitedForOthers = multiKey != null && multiKey.waitedForOthers();
		this.arrivedAt = this.context.scheduler.nanoTime();
		this.startedAt = (multiKey != null) ? multiKey.startedAt() : this.arrivedAt;
		this.endsAt = this.startedAt
				+ (request.waits() ? Math.max(waitNanos(), EngineContext.FIRST_ANSWER_NANOS) : waitNanos());
	}

	/**
	 * Return whether this waiter had to wait for other owners in the store, or in this
	 * queue.
	 */
	boolean hasWaitedForOthersAt(Place own) {
		return own.busy || own.openingEvent > this.arrivalEvent || this.waitedForOthers;
	}

	/**
	 * Return the maximum wait, in nanoseconds. For a request without waiting, this is the
	 * time for one answer.
	 */
	long waitNanos() {
		return this.request.waits() ? this.request.waitNanos() : this.context.commandTimeoutNanos;
	}

	/**
	 * Return the number of the place in the store or, without a place, of this waiter.
	 */
	public long numberInStore() {
		Place own = this.place;
		return (own != null) ? Tokens.number(own.token()) : this.number;
	}

	/** Return the time waited so far, in nanoseconds. */
	public long waitedNanos() {
		return this.context.scheduler.nanoTime() - this.startedAt;
	}

	/** Return the exception for a request that is not granted. */
	public NotAcquiredException notAcquired(Reason reason, @Nullable Throwable cause) {
		return EngineExceptions.notAcquired(this.request, reason, waitedNanos(), cause);
	}

	/** Return the exception for a failure of the store. */
	public LeaseStoreException storeTrouble(@Nullable Throwable error) {
		return EngineExceptions.storeTrouble(this.request.resource(), waitedNanos(), error, this.context.whySilent());
	}

	/**
	 * Return the holds of this waiter's resource that have open leases in its lease
	 * context.
	 */
	List<Hold> enclosingHolds() {
		if (this.leaseContext == NO_LEASES) {
			return List.of();
		}
		// The usual context has no lease of the key: allocate nothing for it.
		List<Hold> found = List.of();
		for (Lease lease : this.leaseContext.leases(this.request.resource().key())) {
			for (Hold hold : (lease instanceof EngineLease own) ? own.openHolds() : List.<Hold>of()) {
				if (hold.queue.context == this.context && hold.resource().equals(this.request.resource())
						&& !found.contains(hold)) {
					found = found.isEmpty() ? new ArrayList<>(2) : found;
					found.add(hold);
				}
			}
		}
		return found;
	}

	/** Notify the observation that the request has to wait or ask the store. */
	void tellBegin() {
		if (this.observation != null) {
			this.observation.begin();
		}
	}

	/**
	 * Notify the observation, before the grant, that the request waited for another
	 * owner.
	 */
	void tellHandedOver(HandOver way) {
		if (this.observation != null) {
			this.observation.handedOver(way);
		}
	}

	// End of the wait without a lease. The rules depend on the place that serves this
	// waiter or, without one, on the first place before it. Without any place, the waiter
	// waits for a hold of this instance.

	/**
	 * Return the exception for an overdue wait, or {@code null} if the wait is not over.
	 */
	@Nullable RuntimeException whyOver(@Nullable Place relevantPlace, long now) {
		if (now - deadline(relevantPlace) >= 0) {
			return whyTimedOut(relevantPlace, now);
		}
		if (!this.request.waits() || relevantPlace == null || relevantPlace.busy) {
			return null;
		}
		long unreached = this.context.store.unreachedNanos();
		if (unreached > 0
				&& now - ResourceQueue.later(this.startedAt, now - unreached) >= this.context.outagePatienceNanos) {
			return storeTrouble(unreached());
		}
		Throwable trouble = relevantPlace.trouble;
		if (trouble == null || EngineExceptions.isWorthWaiting(trouble)) {
			return null;
		}
		long since = ResourceQueue.later(this.arrivedAt, relevantPlace.openedAt);
		if (unreached > 0) {
			since = ResourceQueue.later(since, now - unreached);
		}
		return (relevantPlace.failedAt - since >= this.context.outagePatienceNanos) ? storeTrouble(trouble) : null;
	}

	/** Return a time before which the wait is not over, unless a question fails. */
	long lookAgainAt(@Nullable Place relevantPlace, long now) {
		long unreached = this.context.store.unreachedNanos();
		long outageEndsAt = ResourceQueue.later(this.startedAt, now - unreached) + this.context.outagePatienceNanos;
		if (unreached == 0 || outageEndsAt - now <= 0) {
			// The connection may be lost at any time.
			outageEndsAt = now
					+ Math.max(this.context.outagePatienceNanos, this.context.settings.retryInterval().toNanos());
		}
		return ResourceQueue.earlier(deadline(relevantPlace), outageEndsAt);
	}

	/**
	 * Return the deadline. Leaves time for a first answer, without which nothing is known
	 * about the resource.
	 */
	private long deadline(@Nullable Place relevantPlace) {
		return (relevantPlace != null && relevantPlace.isAwaitingFirst()) ? this.endsAt : this.startedAt + waitNanos();
	}

	/**
	 * Return the exception for a missed deadline: because of another holder, or because
	 * of the store.
	 */
	RuntimeException whyTimedOut(@Nullable Place relevantPlace, long now) {
		if (relevantPlace == null) {
			return this.queue.timedOut(this);
		}
		boolean neverBlocked = relevantPlace == this.place && !hasWaitedForOthersAt(relevantPlace);
		if (neverBlocked || relevantPlace.isSilent(this.context, now, waitNanos())) {
			return storeTrouble(relevantPlace.reason(this.context));
		}
		// The holder may be this instance itself, if its release has failed.
		Throwable trouble = this.queue.releases().failure(this.request.resource());
		return (trouble != null) ? storeTrouble(trouble) : this.queue.timedOut(this);
	}

	private StoreCommandException unreached() {
		StoreCommandException unreached = StoreCommandException.unreached(this.context.settings.outagePatience(),
				this.context.whyLost());
		return this.context.isAdmitted() ? unreached : StoreCommandException.notCompared(unreached);
	}

	// Methods of PendingAcquisition

	@Override
	long endsAt() {
		return this.endsAt;
	}

	@Override
	void interrupt(@Nullable InterruptedException cause) {
		abandon(notAcquired(Reason.INTERRUPTED, cause));
	}

	@Override
	void endOverdue() {
		// The queue ends the wait with the actual reason, as the late timer would.
		this.queue.endOverdue();
		abandon(storeTrouble(null));
	}

	private void abandon(RuntimeException why) {
		if (this.result.completeExceptionally(why)) {
			this.queue.giveUp(this);
		}
	}

	@Override
	public String toString() {
		return "Waiter[" + this.number + "]";
	}

	/**
	 * Progress of a request for several keys, at the arrival of one part.
	 *
	 * @param startedAt the start of the wait for the first key
	 * @param waitedForOthers whether an earlier part had to wait for other owners
	 */
	record MultiKeyProgress(long startedAt, boolean waitedForOthers) {
	}

}
