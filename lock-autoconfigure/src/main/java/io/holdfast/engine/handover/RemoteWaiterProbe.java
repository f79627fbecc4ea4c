package io.holdfast.engine.handover;

import java.util.concurrent.Executor;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * Knows whether waiters of other instances want permits, as the store said a moment ago.
 * The store does not tell when they begin to wait, so it is asked now and then while
 * permits are handed over here: one question for what may be many turns of all that hold
 * some. Confined to the coordinator.
 */
public final class RemoteWaiterProbe {

	/** How long an answer counts: a waiter that comes then waits for no longer. */
	private static final long LONGEST = HandOverLimits.DEFAULT.maxTime().toNanos();

	/** After how many times that long it asks again when others waited. */
	private static final int REST = 20;

	private final EngineContext context;

	private final Resource semaphore;

	private final Executor coordinator;

	private final long nanos;

	/** Whether a question is sent that has no answer yet. */
	private boolean asking;

	/** Whether no other instance had a waiter, by the last answer. */
	private boolean quiet;

	/** When the question was sent that was answered last. */
	private long askedAt;

	private long askAgainAt;

	/**
	 * Create what asks for one coordinator.
	 * @param coordinator runs events of the coordinator
	 * @param handOver for how long permits may stay in this instance
	 */
	public RemoteWaiterProbe(EngineContext context, Resource semaphore, Executor coordinator, HandOverLimits handOver,
			long now) {
		this.context = context;
		this.semaphore = semaphore;
		this.coordinator = coordinator;
		this.nanos = Math.min(LONGEST, handOver.maxTime().toNanos());
		this.askAgainAt = now;
	}

	/** Return whether no other instance had a waiter a moment ago. */
	public boolean isQuiet(long now) {
		return this.quiet && now - this.askedAt < this.nanos;
	}

	/**
	 * Ask, if it is time to. A waiter of this instance that has left the store's queue
	 * unnoticed, as notifications were missed, would hide one of another instance; so it
	 * asks nothing while none are received.
	 * @param standing how many of this instance stand in the queue
	 * @param limit how many permits there are if no operator has set that
	 */
	public void askIfDue(int standing, int limit, long now) {
		if (this.asking || now - this.askAgainAt < 0 || !this.context.store.isListening()) {
			return;
		}
		this.asking = true;
		this.context.sendInTime(Command.INSPECT, () -> this.context.store.inspectPermits(this.semaphore, 0))
			.whenComplete((state, error) -> this.coordinator.execute(() -> {
				this.asking = false;
				// Where answers take that long, they are of no use.
				boolean late = this.context.scheduler.nanoTime() - now >= this.nanos;
				this.quiet = !late && isQuiet(state, standing, limit);
				this.askedAt = now;
				this.askAgainAt = now + (this.quiet ? this.nanos / 2 : REST * this.nanos);
			}));
	}

	/** Nor may more be held than an operator allows by now. */
	private static boolean isQuiet(@Nullable PermitState state, int standing, int limit) {
		return state != null && state.waiting() <= standing
				&& state.used() <= ((state.limit() != null) ? state.limit() : limit);
	}

}
