package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseContext;
import io.holdfast.NotAcquiredException.Reason;
import org.jspecify.annotations.Nullable;

/**
 * One wait for several locks, one after the other in the order that all keep, so that no
 * two can wait for each other: all or none of them, until one deadline. Thread-safe.
 *
 * <p>
 * The order of resources against deadlock: E. G. Coffman, M. Elphick, A. Shoshani,
 * <em>System Deadlocks</em>, ACM Computing Surveys 3 (1971), after J. W. Havender.
 */
final class JointAcquisition implements Acquisition {

	private final LeaseEngine engine;

	private final List<Demand> demands;

	private final @Nullable Thread owner;

	private final LeaseContext context;

	/** Who observes it, if somebody does. */
	private final @Nullable RequestWatch watch;

	final long startedAt;

	private final CompletableFuture<JointLease> result = new CompletableFuture<>();

	/** What it has by now. Guarded by this. */
	private final List<HeldLease> leases;

	/** It had to wait for others, not only for the store. */
	private volatile boolean metOthers;

	/** What it waits for now. */
	private volatile @Nullable Waiter current;

	JointAcquisition(LeaseEngine engine, List<Demand> demands, @Nullable Thread owner, LeaseContext context,
			@Nullable RequestWatch watch) {
		this.engine = engine;
		this.demands = demands;
		this.owner = owner;
		this.context = context;
		this.watch = watch;
		this.startedAt = engine.now();
		this.leases = new ArrayList<>(demands.size());
	}

	JointAcquisition start() {
		this.result.whenComplete((lease, error) -> {
			if (error != null) {
				releaseAll();
			}
		});
		acquire(0);
		return this;
	}

	private void acquire(int had) {
		Demand demand = this.demands.get(had);
		Waiter waiter = this.engine.acquire(demand, this.owner, this.context, this, this.watch);
		this.current = waiter;
		if (this.result.isDone()) {
			// By somebody who did not see it yet.
			waiter.interrupt(null);
		}
		// On another thread: a store that answers at once would end the stack.
		waiter.result.whenCompleteAsync((lease, error) -> {
			if (error != null) {
				RequestWatch.fail(this.watch, this.result, error);
			}
			else if (!add(lease)) {
				lease.discardAsync();
			}
			else {
				watch(lease);
				this.metOthers = waiter.hasMetOthers();
				if (had + 1 < this.demands.size()) {
					acquire(had + 1);
				}
				else {
					complete();
				}
			}
		}, this.engine.callbacks);
	}

	boolean hasMetOthers() {
		return this.metOthers;
	}

	private synchronized boolean add(HeldLease lease) {
		return !this.result.isDone() && this.leases.add(lease);
	}

	/** What is lost keeps the others from being of use: they are not waited for. */
	private void watch(HeldLease lease) {
		if (lease.hold.isPartial()) {
			lease.onLost(() -> end(Failures.lostMeanwhile(lease.hold)));
		}
	}

	/**
	 * What was acquired first has aged meanwhile. Where nothing renews it from now on,
	 * this does; but if the store does not, what is left has to do.
	 */
	private void complete() {
		JointLease lease;
		synchronized (this) {
			if (this.result.isDone()) {
				return;
			}
			lease = new JointLease(this.engine, this.leases);
		}
		lease.begin(this.engine.now());
		if (this.demands.get(0).renewal()) {
			deliver(lease);
		}
		else {
			CompletableFuture<Void> renewal = lease.renewAsync(this.demands.get(0).leaseMillis());
			Scheduler.Timer timer = this.engine.scheduler.schedule(() -> renewal.cancel(true),
					Math.min(leftNanos(), this.engine.commandTimeoutNanos()));
			renewal.whenComplete((renewed, error) -> {
				timer.cancel();
				deliver(lease);
			});
		}
	}

	private void deliver(JointLease lease) {
		lease.parts()
			.stream()
			.filter((part) -> !part.isHeld())
			.findFirst()
			.ifPresentOrElse((lost) -> end(Failures.lostMeanwhile(lost.hold)),
					() -> RequestWatch.grant(this.watch, this.result, lease));
	}

	private void releaseAll() {
		List<HeldLease> acquired;
		synchronized (this) {
			acquired = List.copyOf(this.leases);
			this.leases.clear();
		}
		acquired.forEach((lease) -> {
			lease.hold.begin(this.engine.now());
			lease.discardAsync();
		});
	}

	@Override
	public CompletableFuture<JointLease> result() {
		return this.result;
	}

	@Override
	public long leftNanos() {
		return Math.max(this.demands.get(0).waitNanos(), LeaseEngine.FIRST_ANSWER_NANOS)
				- (this.engine.now() - this.startedAt);
	}

	@Override
	public void interrupt(@Nullable InterruptedException cause) {
		end(Failures.notAcquired(current(), Reason.INTERRUPTED, cause));
	}

	@Override
	public void overdue() {
		end(Failures.storeTrouble(current(), null));
	}

	/** End it unless it has ended, and then what it waits for, which may be the next. */
	private void end(RuntimeException why) {
		if (RequestWatch.fail(this.watch, this.result, why)) {
			current().interrupt(null);
		}
	}

	private Waiter current() {
		return Objects.requireNonNull(this.current, "not started");
	}

}
