package io.holdfast.memory;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * Semaphore with its holders and waiters.
 */
final class MemoryPermits extends MemoryResource {

	/** Limit of the last request. */
	private int lastRequestLimit;

	/** Limit set by an operator, or {@code null}. */
	private @Nullable Integer limit;

	MemoryPermits(MemoryLeases leases, Resource resource) {
		super(leases, resource, 1);
	}

	@Override
	AcquireReply acquire(AcquireCommand command, boolean polls, boolean enqueue) {
		String token = command.token();
		this.lastRequestLimit = command.limit();
		int place = place(token);
		if (place >= 0) {
			enqueue(this.queue.get(place).command(), polls, place);
		}
		boolean open = this.leases.grace() == 0;
		if (!this.holders.contains(token)) {
			int effectiveLimit = limitOf(command);
			if (command.permits() > effectiveLimit) {
				leave(token);
				settle();
				return new Rejected(effectiveLimit);
			}
			settle(token);
			boolean mayPass = this.queue.isEmpty() || !command.fair();
			if (open && !this.holders.contains(token) && mayPass
					&& this.holders.used() + command.permits() <= effectiveLimit) {
				hold(command, command.leaseMillis());
			}
		}
		else {
			// This token holds already, and needs no free permits.
			settle();
		}
		Granted held = lengthen(token, command.leaseMillis());
		if (held != null) {
			leave(token);
			return held;
		}
		if (enqueue && place(token) < 0) {
			enqueue(command, polls, this.queue.size());
		}
		return busy(limitOf(command));
	}

	@Override
	boolean renew(Renewal renewal) {
		String token = renewal.token();
		if (this.leases.grace() > 0 && !this.holders.contains(token)) {
			// Lost by the fail-over. Nothing else was granted yet, so that the lease can
			// be restored.
			leave(token);
			put(token, renewal.permits(), this.leases.after(renewal.leaseMillis()));
		}
		return holds(renewal) && lengthen(token, renewal.leaseMillis()) != null;
	}

	boolean limit(@Nullable Integer newLimit) {
		boolean limited = this.limit != null;
		this.limit = newLimit;
		settle();
		return limited;
	}

	@Override
	Standing inspect(int maxHolders, int maxWaiters) {
		return new Standing(this.resource, 0, 0, this.limit, isIdle(this.leases.now()) ? 0 : this.lastRequestLimit,
				(int) this.holders.used(), this.holders.size(), holderStates(maxHolders), this.queue.size(),
				waiterStates(maxWaiters));
	}

	@Override
	long queueExpiresAt() {
		return Math.max(super.queueExpiresAt(), this.holders.until());
	}

	@Override
	boolean isDispensable(long now) {
		return this.limit == null && super.isDispensable(now);
	}

	private int limitOf(AcquireCommand command) {
		return (this.limit != null) ? this.limit : command.limit();
	}

	/** Return whether a waiter is alive, because it has asked recently. */
	private boolean isPresent(Queued queued) {
		return this.leases.now() < queued.stampedAt() + patience(queued.command());
	}

	private Busy busy(int effectiveLimit) {
		long ttl = (this.leases.grace() > 0) ? this.leases.grace()
				: this.holders.isEmpty() ? 1000 : this.leases.millisUntil(this.holders.firstToEnd().expiresAt());
		return new Busy(ttl, busyFence(), false, null, (int) this.holders.used(), effectiveLimit,
				this.leases.grace() > 0);
	}

	@Override
	void settle() {
		settle("");
	}

	/**
	 * Grant permits to the heads of the queue as long as they fit. No waiter overtakes
	 * another.
	 */
	private void settle(String candidate) {
		while (!this.queue.isEmpty() && this.leases.grace() == 0) {
			Queued head = this.queue.get(0);
			AcquireCommand command = head.command();
			int effectiveLimit = limitOf(command);
			boolean hasToWait = command.permits() <= effectiveLimit
					&& this.holders.used() + command.permits() > effectiveLimit;
			boolean absent = hasToWait && !command.token().equals(candidate) && !head.polls()
					&& this.leases.isAbsent(command.token());
			boolean present = !absent && isPresent(head);
			if (present && hasToWait) {
				return;
			}
			leave(command.token());
			if (present && command.permits() > effectiveLimit) {
				this.leases.tell(this.resource, command.token(), advanceFence(), 0);
			}
			else if (present) {
				hold(command, command.claimMillis());
				if (!command.token().equals(candidate)
						&& !this.leases.tell(this.resource, command.token(), lastFence(), command.claimMillis())
						&& !head.polls()) {
					this.holders.remove(command.token());
				}
			}
		}
	}

}
