package io.holdfast.engine.queue;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.handover.HandOverRules;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.lease.LeaseHandle;
import io.holdfast.engine.lease.LeaseRenewer;
import io.holdfast.engine.lease.LeaseTerms;
import io.holdfast.engine.observe.EngineObserver.HoldEnd;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * Serializes all that happens to one resource in this instance: which request waits,
 * which one contends in the store, which one holds. One of the seven concepts of the
 * engine. It owns the waiters, by its superclass, and what is held of the resource.
 *
 * <p>
 * <b>Events.</b> A request that arrives, an answer of the store, a timer, a release: each
 * is an event, and events run one after the other. So the state needs no lock, commands
 * leave in the order of the decisions behind them, and an answer that is there at once
 * cannot interfere with its own command. What may take its time, such as waking a thread,
 * is put off until the event is over ({@link #later}). Observers are told by other
 * threads.
 *
 * <p>
 * <b>Waiting.</b> Each request is a {@link Waiter}. If it has to wait it stands in the
 * <em>queue</em> of this instance, which costs the store nothing, until it may contend.
 *
 * <p>
 * <b>Contending.</b> A contender stands for the instance in the store, by a
 * {@link Contender}: a token, and the commands that name it. How many may contend at a
 * time differs ({@link #admits}): one for an exclusive lock, several for permits and for
 * readers. The contender asks again until it is answered, so lost messages cost time
 * only. The end of a contender or of a hold lets the next waiter contend
 * ({@link #advance}). Whenever a request stands in the queue there is one of these.
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
 * <b>Handing over.</b> With the last handle the hold ends. The coordinator decides what
 * becomes of it, within what {@link HandOverRules} allow. The next waiter of this
 * instance takes it over, without a command and with the next fencing token. Or it keeps
 * others out until its least time is over. Or it goes back to the store, by a RELEASE
 * that brings in the next waiter with the same command. A turn of the instance is
 * limited, so that others have theirs.
 *
 * <p>
 * <b>Lifetime.</b> A coordinator is there for as long as a waiter or a hold needs it; the
 * {@link CoordinatorRegistry} makes and forgets it. Only {@link #execute},
 * {@link #waiters} may be called from outside of its events, and by the registry
 * {@link #begin}, {@link #addUser} and {@link #removeUser}.
 */
public abstract class ResourceCoordinator extends WaiterCoordinator {

	ResourceCoordinator(CoordinatorParts parts, Resource resource) {
		super(parts, resource);
	}

	// By kind of resource

	/** Take a request that begins. */
	abstract void arrive(Waiter waiter);

	abstract void onHoldBegun(Hold hold);

	abstract void onHoldEnded(Hold hold);

	/**
	 * Return the waiter that can take over a released hold without asking the store, or
	 * {@code null}.
	 */
	abstract @Nullable Waiter nextEligibleWaiter(Hold hold, long now);

	// Events, and what they consist of

	/**
	 * Begin a request.
	 * @param waiter the request
	 */
	final void begin(Waiter waiter) {
		execute(() -> {
			if (!waiter.instanceId.equals(this.context.instanceId())) {
				// Another copy of this process may have the same token.
				fail(waiter, waiter.notAcquired(Reason.SHUTDOWN));
			}
			// A part may be given up before it comes.
			else if (!waiter.result.isDone()) {
				arrive(waiter);
			}
		});
	}

	final void nest(Waiter waiter, Hold hold) {
		waiter.markNested();
		this.parts.registry().removeUser(this.resource);
		LeaseHandle lease = open(waiter, hold, this.context.scheduler.nanoTime());
		renewer().onLeasesChanged(hold);
		deliver(waiter, lease);
	}

	@Override
	public final void beginHold(Waiter waiter, Hold hold, long now) {
		stopContending(waiter);
		onStoreGrant();
		onHoldBegun(hold);
		LeaseHandle lease = open(waiter, hold, now);
		renewer().startRenewing(hold);
		this.parts.registry().removeContender(hold.token);
		deliver(waiter, lease);
		advance();
	}

	/** Have a waiter go on with a released hold. */
	private void handOver(Hold hold, Waiter heir, long now) {
		dequeue(heir);
		boolean hasOwnToken = stopContending(heir) && !tryPassPlace(heir);
		Hold next = heir.takeOver(hold, now);
		onHoldBegun(next);
		LeaseHandle lease = open(heir, next, now);
		renewer().replace(hold, next);
		deliver(heir, lease);
		detach(hold);
		if (hasOwnToken) {
			Contender contender = heir.contender();
			this.parts.registry().removeContender(contender.token);
			if (contender.answers().isNamed()) {
				this.parts.releases().release(this.resource, contender.command, contender.answers().doubtSince(), null);
			}
		}
		// The waiter that is the first in the queue now may have to ask by itself.
		advance();
	}

	private LeaseHandle open(Waiter waiter, Hold hold, long now) {
		LeaseHandle lease = LeaseHandle.of(hold, waiter, renewer(), now);
		hold.open(lease, now);
		waiter.setLease(lease);
		return lease;
	}

	private void deliver(Waiter waiter, LeaseHandle lease) {
		// To wake up a thread takes longer than all else: others are not to wait for it.
		later(() -> {
			if (!waiter.complete(lease)) {
				// Its caller has cancelled. On another thread: the next caller may have
				// cancelled too, and releasing here would recurse.
				this.context.call(lease::discardAsync);
			}
		});
	}

	@Override
	public final void releaseLease(Hold hold, LeaseTerms handle, boolean used,
			CompletableFuture<ReleaseResult> result) {
		long now = this.context.scheduler.nanoTime();
		hold.close(handle, used, now);
		if (hold.leases.count() > 0) {
			result.complete(hold.isHeld(now) ? ReleaseResult.RELEASED : ReleaseResult.LOST);
			renewer().onLeasesChanged(hold);
			return;
		}
		boolean held = hold.markReleased(now);
		if (held) {
			hold.tellEnded(HoldEnd.RELEASED);
		}
		else {
			if (hold.hasRunOut(now)) {
				this.parts.losses().reportRunOut(hold);
			}
			renewer().lose(hold, hold.whyExpired(now));
		}
		onHoldEnded(hold);
		Waiter next = nextWaiter(hold, now);
		switch (afterRelease(hold, held, next, now)) {
			case LEFT_TO_SHUT_DOWN -> {
				detach(hold);
				result.complete(ReleaseResult.LOST);
			}
			case MIN_HOLD -> {
				this.parts.releases().retain(hold, hold.minHoldLeft(now), result);
				renewer().stopRenewing(hold);
				detach(hold);
				// Waiters here have to wait in the store.
				advance();
			}
			case HAND_OVER -> {
				handOver(hold, Objects.requireNonNull(next), now);
				result.complete(ReleaseResult.RELEASED);
			}
			case RELEASE -> releaseInStore(hold).whenComplete((reply, error) -> {
				if (error == null) {
					result.complete(held ? this.parts.losses().judgeRelease(hold, reply) : ReleaseResult.LOST);
				}
				else {
					result.completeExceptionally(EngineExceptions.releaseTrouble(this.resource, error));
				}
			});
		}
	}

	private @Nullable Waiter nextWaiter(Hold hold, long now) {
		return this.context.isClosed() ? null : nextEligibleWaiter(hold, now);
	}

	private AfterRelease afterRelease(Hold hold, boolean held, @Nullable Waiter next, long now) {
		if (!held && this.parts.releases().isLeftToStore(hold)) {
			return AfterRelease.LEFT_TO_SHUT_DOWN;
		}
		if (!held) {
			return AfterRelease.RELEASE;
		}
		if (hold.isUsed() && hold.minHoldLeft(now) > 0) {
			return AfterRelease.MIN_HOLD;
		}
		return (next != null) ? AfterRelease.HAND_OVER : AfterRelease.RELEASE;
	}

	/** Return the rules for released holds. */
	final HandOverRules rules() {
		return this.parts.rules();
	}

	/** Return what renews the holds. */
	final LeaseRenewer renewer() {
		return this.parts.renewer();
	}

	/** Release in the store a hold that was released here. */
	final CompletableFuture<ReleaseReply> releaseInStore(Hold hold) {
		CompletableFuture<ReleaseReply> outcome = releaseToken(hold.toCommand(this.context.scheduler.nanoTime()),
				hold.doubtSince, hold.request.permits());
		// Not before, as a shut-down goes on when the last hold is forgotten.
		renewer().stopRenewing(hold);
		detach(hold);
		return outcome;
	}

	final void detach(Hold hold) {
		if (hold.detach()) {
			this.parts.registry().removeUser(this.resource);
		}
	}

	/** The decision on a hold whose last lease was released. */
	private enum AfterRelease {

		/** A shut-down has ended it, and the store ends it later. */
		LEFT_TO_SHUT_DOWN,

		/** It keeps others out until its least time is over. */
		MIN_HOLD,

		/** The next waiter here goes on with it. */
		HAND_OVER,

		/** It goes back to the store, which brings in the next waiter. */
		RELEASE

	}

}
