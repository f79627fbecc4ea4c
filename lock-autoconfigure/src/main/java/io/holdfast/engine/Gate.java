package io.holdfast.engine;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import io.holdfast.LeaseLostException;
import io.holdfast.LockNotAcquiredException.Reason;
import io.holdfast.ReleaseResult;

/**
 * All that happens to one key inside one instance. One waiter at a time stands for the
 * instance in the store, the <em>contender</em>; granted, its hold is the
 * <em>holder</em>; the others wait here in their order and cost the store nothing.
 * Whenever somebody waits here, there is a contender or a valid holder.
 *
 * <p>
 * Events run one after the other, each to its end, on whichever thread brings one while
 * none runs; so the state needs no lock, commands leave in the order of the decisions
 * behind them, and a reply that is there at once cannot interfere with its own request.
 */
final class Gate {

	private static final Log logger = LogFactory.getLog(Gate.class);

	/** How many events a thread runs at a time before another one goes on. */
	private static final int EVENTS_PER_THREAD = 100;

	final LockEngine engine;

	final String key;

	/** How many waiters and holds need this gate. Guarded by the engine's map. */
	int users;

	private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();

	private final AtomicBoolean running = new AtomicBoolean();

	private final Set<Waiter> queue = new LinkedHashSet<>();

	private @Nullable Waiter contender;

	private @Nullable Hold holder;

	/** Lost, but not released yet by their holders. */
	private final List<Hold> lost = new ArrayList<>(0);

	Gate(LockEngine engine, String key) {
		this.engine = engine;
		this.key = key;
	}

	void execute(Runnable event) {
		this.events.add(event);
		drain();
	}

	/**
	 * What comes in as fast as it is done must not keep this thread, which may be the
	 * driver's or that of a call with a deadline: so another one goes on after a while.
	 */
	private void drain() {
		int left = EVENTS_PER_THREAD;
		while (!this.events.isEmpty()) {
			if (left == 0) {
				if (background(this::drain)) {
					return;
				}
				left = EVENTS_PER_THREAD;
			}
			if (!this.running.compareAndSet(false, true)) {
				return;
			}
			try {
				Runnable event = this.events.poll();
				while (event != null) {
					run(event);
					event = (--left > 0) ? this.events.poll() : null;
				}
			}
			finally {
				// Also if the stack ends right here: whoever comes next goes on.
				this.running.set(false);
			}
		}
	}

	private void run(Runnable event) {
		try {
			event.run();
		}
		catch (RuntimeException | Error ex) {
			// Not here: logging takes more stack than is left after an overflow.
			background(() -> logger.error("An event at key '" + this.key + "' failed", ex));
		}
	}

	private boolean background(Runnable action) {
		try {
			this.engine.callbacks.execute(action);
			return true;
		}
		catch (RuntimeException | Error ex) {
			return false;
		}
	}

	// Events, and what they consist of

	void arrive(Waiter waiter) {
		dropInvalidHolder();
		Thread owner = waiter.demand.reentrant() ? waiter.owner : null;
		boolean lostByOwner = owner != null && isLostBy(owner);
		if (owner != null && !lostByOwner && this.holder != null && this.holder.owner == owner) {
			// Also during a shut-down: it is part of the work in flight.
			nest(waiter, this.holder);
		}
		else if (this.engine.isClosed()) {
			fail(waiter, this.engine.notAcquired(waiter, Reason.SHUTDOWN));
		}
		else if (lostByOwner) {
			fail(waiter, new LeaseLostException(this.key, "Lock '" + this.key
					+ "' was not acquired again: this thread holds it by a lease that was lost; release that first"));
		}
		else if (this.contender == null && this.holder == null && this.queue.isEmpty()) {
			this.contender = waiter;
			waiter.begin();
			waiter.ask();
		}
		else if (waiter.demand.waits()) {
			this.queue.add(waiter);
			waiter.queue();
		}
		else {
			// Somebody else is before it; perhaps only because the store is silent.
			timedOut(waiter);
		}
	}

	private boolean isLostBy(Thread owner) {
		return this.lost.stream().anyMatch((hold) -> hold.owner == owner);
	}

	private void nest(Waiter waiter, Hold hold) {
		waiter.nested();
		hold.leases++;
		this.engine.leave(this);
		deliver(waiter, hold);
	}

	void granted(Waiter waiter, Hold hold) {
		this.contender = null;
		this.holder = hold;
		this.engine.keeper.keep(hold);
		this.engine.contenders.remove(waiter.token);
		deliver(waiter, hold);
	}

	private void deliver(Waiter waiter, Hold hold) {
		HeldLease lease = new HeldLease(this.engine, hold);
		if (!waiter.result.complete(lease)) {
			// Its caller has gone meanwhile.
			lease.releaseAsync();
		}
	}

	/**
	 * The key is not free, and the waiter does not wait.
	 */
	void refuse(Waiter waiter) {
		waiter.result.completeExceptionally(this.engine.notAcquired(waiter, Reason.TIMED_OUT));
		if (waiter.isDoubtful()) {
			// It asked more than once, and may be granted the key yet.
			giveUp(waiter);
			return;
		}
		// The store has not queued it: there is nothing to release.
		end(waiter);
		Waiter next = promote();
		if (next != null) {
			next.ask();
		}
	}

	void timedOut(Waiter waiter) {
		long now = this.engine.now();
		Waiter asking = (this.contender != null) ? this.contender : waiter;
		fail(waiter, asking.isStoreSilent(now) ? this.engine.storeTrouble(waiter, asking.trouble())
				: this.engine.notAcquired(waiter, Reason.TIMED_OUT));
	}

	void fail(Waiter waiter, RuntimeException exception) {
		waiter.result.completeExceptionally(exception);
		giveUp(waiter);
	}

	/** The waiter's caller has gone, or its wait is over. */
	void giveUp(Waiter waiter) {
		if (waiter.is(Waiter.State.QUEUED)) {
			this.queue.remove(waiter);
			end(waiter);
		}
		else if (waiter.is(Waiter.State.CONTENDING)) {
			boolean silent = waiter.isStoreSilent(this.engine.now());
			end(waiter);
			release(waiter.token, waiter.demand, waiter.isDoubtful());
			if (silent && this.contender != null) {
				this.contender.inheritSilence(waiter);
			}
		}
	}

	private void end(Waiter waiter) {
		if (this.contender == waiter) {
			this.contender = null;
		}
		waiter.over();
		this.engine.contenders.remove(waiter.token);
		this.engine.leave(this);
	}

	/** End a token in the store; the next one here takes its place, if there is one. */
	private CompletableFuture<LeaseStore.ReleaseReply> release(String token, Demand demand, boolean doubtful) {
		boolean free = this.contender == null && this.holder == null;
		Waiter next = free ? promote() : null;
		long sentAt = this.engine.now();
		CompletableFuture<LeaseStore.ReleaseReply> outcome = this.engine.release(this.key, token, demand, doubtful,
				(next != null) ? next.demand.asNext(next.token) : null);
		if (next != null) {
			next.follow(outcome, sentAt);
		}
		return outcome;
	}

	private @Nullable Waiter promote() {
		if (this.queue.isEmpty()) {
			return null;
		}
		Waiter next = this.queue.iterator().next();
		this.queue.remove(next);
		this.contender = next;
		// Before anything names its token: a wake-up may be faster than this thread.
		next.begin();
		return next;
	}

	/** One lease on a hold was released; with the last of them the hold ends. */
	void release(Hold hold, CompletableFuture<ReleaseResult> result) {
		if (--hold.leases > 0) {
			result.complete(hold.isHeld(this.engine.now()) ? ReleaseResult.RELEASED : ReleaseResult.LOST);
			return;
		}
		long now = this.engine.now();
		boolean held = hold.release(now);
		if (!held) {
			if (hold.hasRunOut(now)) {
				logger.warn("The lease of lock '" + this.key + "' (fence " + hold.fence
						+ ") was over before it was released: what it was taken for took longer than its lease time");
			}
			this.engine.lose(hold, hold.whyOver(now));
		}
		if (this.holder == hold) {
			this.holder = null;
		}
		this.lost.remove(hold);
		CompletableFuture<LeaseStore.ReleaseReply> outcome = release(hold.token, hold.demand, hold.doubtful);
		// Not before, as a shut-down goes on when the last hold is forgotten.
		this.engine.keeper.forget(hold);
		outcome.whenComplete((reply, error) -> {
			if (error == null) {
				// Whatever the reply: a repeated release finds nothing left to release.
				result.complete(held ? ReleaseResult.RELEASED : ReleaseResult.LOST);
			}
			else {
				result.completeExceptionally(this.engine.releaseTrouble(this.key, error));
			}
		});
		detach(hold);
	}

	/** A hold was lost: whoever waits here need not wait for its thread. */
	void lost(Hold hold) {
		if (this.holder == hold) {
			this.holder = null;
			if (hold.isMissed()) {
				this.lost.add(hold);
			}
			else {
				// Perhaps nobody ever releases it: the gate must not wait for that.
				detach(hold);
			}
			Waiter next = (this.contender == null) ? promote() : null;
			if (next != null) {
				next.ask();
			}
		}
	}

	private void detach(Hold hold) {
		if (hold.attached) {
			hold.attached = false;
			this.engine.leave(this);
		}
	}

	private void dropInvalidHolder() {
		if (this.holder != null && !this.holder.isHeld(this.engine.now())) {
			Hold hold = this.holder;
			this.engine.lose(hold, hold.whyOver(this.engine.now()));
			lost(hold);
		}
	}

	/** Nothing is granted any more. */
	void close() {
		Set<Waiter> waiters = Set.copyOf(this.queue);
		this.queue.clear();
		waiters.forEach((waiter) -> {
			waiter.result.completeExceptionally(this.engine.notAcquired(waiter, Reason.SHUTDOWN));
			end(waiter);
		});
		if (this.contender != null) {
			fail(this.contender, this.engine.notAcquired(this.contender, Reason.SHUTDOWN));
		}
	}

}
