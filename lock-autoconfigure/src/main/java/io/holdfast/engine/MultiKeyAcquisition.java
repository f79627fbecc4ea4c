package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.PromptAction;
import org.jspecify.annotations.Nullable;

/**
 * Acquisition of several locks, all or none, within one deadline. All acquisitions
 * request their locks one after the other in the same order, so that they never cause a
 * deadlock among each other. Thread-safe.
 *
 * <p>
 * On ordering resources to prevent deadlocks: E. G. Coffman, M. Elphick, A. Shoshani,
 * <em>System Deadlocks</em>, ACM Computing Surveys 3 (1971), after J. W. Havender.
 */
final class MultiKeyAcquisition extends PendingAcquisition<MultiKeyLease> {

	private final ResourceQueues queues;

	private final List<ResolvedRequest> requests;

	private final long startedAt;

	/**
	 * Leases granted so far. Guarded by this, and not changed after {@link #settled} is
	 * set.
	 */
	private final List<LeaseHandle> leases;

	/** Whether success or failure is decided. Guarded by this. */
	private boolean settled;

	/** Waiter for the current key. */
	private volatile @Nullable Waiter current;

	/** Create the acquisition. */
	MultiKeyAcquisition(ResourceQueues queues, List<ResolvedRequest> requests, @Nullable Thread thread,
			LeaseContext leaseContext, @Nullable RequestObservation observation) {
		super(queues.context, thread, leaseContext, observation);
		this.queues = queues;
		this.requests = requests;
		this.startedAt = this.context.scheduler.nanoTime();
		this.leases = new ArrayList<>(requests.size());
	}

	/** Request the first key. */
	MultiKeyAcquisition start() {
		acquire(0, false);
		return this;
	}

	private void acquire(int index, boolean waitedForOthers) {
		Waiter waiter = this.queues.acquire(this.requests.get(index), this.thread, this.leaseContext,
				new Waiter.MultiKeyProgress(this.startedAt, waitedForOthers), this.observation);
		// Set before the result is handled: otherwise the waiter of a later key might be
		// overwritten.
		this.current = waiter;
		if (isSettled()) {
			// Settled by a thread that did not see this waiter.
			waiter.interrupt(null);
		}
		// On another thread: a store that answers at once would cause a stack overflow.
		waiter.result.whenCompleteAsync((lease, error) -> {
			if (error != null) {
				fail(error);
			}
			else if (add(lease)) {
				continueAt(index + 1, waiter, lease);
			}
			else {
				lease.discardAsync();
			}
		}, this.context.callbacks);
	}

	/** Continue after a grant: request the next key, or complete. */
	private void continueAt(int next, Waiter waiter, LeaseHandle lease) {
		try {
			failOnLoss(lease);
			if (isSettled()) {
				return;
			}
			if (next < this.requests.size()) {
				acquire(next, waiter.waitedForOthers);
			}
			else {
				complete();
			}
		}
		catch (RuntimeException | Error ex) {
			// No lease must stay held without a caller.
			fail(ex);
		}
	}

	private synchronized boolean add(LeaseHandle lease) {
		return !this.settled && this.leases.add(lease);
	}

	private synchronized boolean isSettled() {
		return this.settled;
	}

	/** Decide success or failure. Returns {@code false} if it was already decided. */
	private synchronized boolean settle() {
		boolean first = !this.settled;
		this.settled = true;
		return first;
	}

	/**
	 * Fail if a lease is lost while other keys are waited for.
	 */
	private void failOnLoss(LeaseHandle lease) {
		if (lease.hold.isAwaitingOtherKeys()) {
			PromptAction failure = () -> fail(lostWhileWaiting(lease.hold));
			lease.onLost(failure);
		}
	}

	/**
	 * Deliver the lease. Leases without renewal are renewed once before, because the
	 * first of them have aged during the wait. If this renewal fails, the user gets the
	 * rest of their lease times.
	 */
	private void complete() {
		MultiKeyLease lease = new MultiKeyLease(this.leases);
		long now = this.context.scheduler.nanoTime();
		lease.endWaitForOthers(now);
		if (this.requests.get(0).renewal()) {
			deliver(lease);
		}
		else {
			CompletableFuture<Void> renewal = lease.renewAsync(this.requests.get(0).leaseMillis());
			Future<?> timer = this.context.scheduler.schedule(() -> renewal.cancel(true),
					Math.min(endsAt() - now, this.context.commandTimeoutNanos));
			renewal.whenComplete((renewed, error) -> {
				timer.cancel(false);
				deliver(lease);
			});
		}
	}

	private void deliver(MultiKeyLease lease) {
		Optional<LeaseHandle> lost = lease.parts().stream().filter((part) -> !part.isHeld()).findFirst();
		if (lost.isPresent()) {
			fail(lostWhileWaiting(lost.get().hold));
		}
		else if (settle()) {
			this.result.complete(lease);
		}
	}

	@Override
	long endsAt() {
		// All waiters have the same start and wait time.
		return current().endsAt();
	}

	@Override
	void interrupt(@Nullable InterruptedException cause) {
		fail(current().notAcquired(Reason.INTERRUPTED, cause));
	}

	@Override
	void endOverdue() {
		Waiter overdue = current();
		overdue.endOverdue();
		fail(BlockingWait
			.join(overdue.result.handle((lease, error) -> (error != null) ? error : overdue.storeTrouble(null))));
	}

	/** Fail unless settled: release all leases, and end the current wait. */
	private void fail(Throwable why) {
		if (settle()) {
			this.leases.forEach(LeaseHandle::discardAsync);
			current().interrupt(null);
			this.result.completeExceptionally(why);
		}
	}

	private Waiter current() {
		return Objects.requireNonNull(this.current, "not started");
	}

	private LeaseLostException lostWhileWaiting(Hold hold) {
		return EngineExceptions.lostWhileWaiting(hold.resource(), hold.description(), hold.whyNotHeld());
	}

}
