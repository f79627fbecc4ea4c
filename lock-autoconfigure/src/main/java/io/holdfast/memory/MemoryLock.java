package io.holdfast.memory;

import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * Lock with an exclusive owner or readers, and one queue for both modes.
 */
final class MemoryLock extends MemoryResource {

	/** Token of the first waiter that was seen waiting for readers. */
	private String waitingForReaders = "";

	private long waitingForReadersSince;

	MemoryLock(MemoryLeases leases, Resource resource) {
		super(leases, resource, HandOverLimits.STRIDE);
	}

	@Override
	AcquireReply acquire(AcquireCommand command, boolean polls, boolean enqueue) {
		String token = command.token();
		Granted held = lengthen(token, command.leaseMillis());
		if (held != null) {
			leave(token);
			settle();
			return held;
		}
		boolean served = settle(token, command.leaseMillis());
		if (!served && this.queue.isEmpty() && fits(command.permits()) && this.leases.grace() == 0) {
			hold(command, command.leaseMillis());
			served = true;
		}
		if (served) {
			return new Granted(lastFence(), command.leaseMillis());
		}
		if (enqueue) {
			enqueue(command, polls, this.queue.size());
		}
		return busy();
	}

	@Override
	boolean renew(Renewal renewal) {
		if (this.leases.grace() > 0 && !this.holders.contains(renewal.token()) && fits(renewal.permits())) {
			// Lost by the fail-over. Nothing else was granted yet, so that the lease can
			// be restored.
			put(renewal.token(), renewal.permits(), this.leases.after(renewal.leaseMillis()));
		}
		return holds(renewal) && lengthen(renewal.token(), renewal.leaseMillis()) != null;
	}

	@Override
	Standing inspect(int maxHolders, int maxWaiters) {
		return new Standing(this.resource, ttl(), lastFence(), null, 0, 0, this.holders.size(),
				holderStates((owner() != null) ? 1 : maxHolders), this.queue.size(), waiterStates(maxWaiters));
	}

	boolean takeIfFree(String foreigner, long ttlMillis) {
		boolean free = this.holders.isEmpty();
		if (free) {
			put(foreigner, Resource.ALL, (ttlMillis < 0) ? MemoryLeases.NEVER : this.leases.after(ttlMillis));
		}
		return free;
	}

	/** Return the exclusive owner, or {@code null}. */
	private @Nullable String owner() {
		return fits(1) ? null : this.holders.firstToEnd().token();
	}

	/** Return whether a number of permits is free: one for a reader, all for an owner. */
	private boolean fits(int permits) {
		return this.holders.used() + permits <= Resource.ALL;
	}

	/**
	 * Return the time left of the key, in milliseconds; -1 without expiry, 0 if the lock
	 * is free.
	 */
	private long ttl() {
		return this.holders.isEmpty() ? 0 : this.leases.millisUntil(this.holders.lastToEnd().expiresAt());
	}

	@Override
	void settle() {
		settle("", 0);
	}

	/**
	 * Grant the lock to the heads of the queue: to one exclusive waiter, or to readers.
	 * @param candidate the token of the current command, which is granted its full lease
	 * without a notification
	 * @return whether the candidate was granted the lock
	 */
	private boolean settle(String candidate, long leaseMillis) {
		boolean served = false;
		while (!this.queue.isEmpty() && owner() == null && this.leases.grace() == 0) {
			Queued head = this.queue.get(0);
			boolean isCandidate = head.token().equals(candidate);
			boolean hasToWait = !fits(head.command().permits());
			if (hasToWait && isCandidate) {
				see(head);
			}
			if (hasToWait && (isCandidate || seesAsPresent(head))) {
				break;
			}
			this.queue.remove(0);
			if (isCandidate) {
				hold(head.command(), leaseMillis);
				served = true;
			}
			else if (!hasToWait && (head.polls() || !this.leases.isAbsent(head.token()))) {
				hold(head.command(), head.command().claimMillis());
				this.leases.tell(this.resource, head.token(), lastFence(), head.command().claimMillis());
			}
		}
		return served;
	}

	private void see(Queued head) {
		this.waitingForReaders = head.token();
		this.waitingForReadersSince = this.leases.now();
	}

	/**
	 * Return whether the first waiter, which waits for readers, is alive. A waiter is
	 * gone if its instance has no subscription, or has sent no request for long.
	 */
	private boolean seesAsPresent(Queued head) {
		if (!head.polls() && this.leases.isAbsent(head.token())) {
			return false;
		}
		if (!head.token().equals(this.waitingForReaders)) {
			see(head);
		}
		return this.leases.now() - this.waitingForReadersSince < patience(head.command());
	}

	private Busy busy() {
		boolean grace = this.leases.grace() > 0;
		String owner = owner();
		if (owner == null) {
			return new Busy(Math.max(ttl(), this.leases.grace()), busyFence(), false, null, this.holders.size(), 0,
					grace);
		}
		boolean foreign = !Tokens.isToken(owner);
		return new Busy(ttl(), busyFence(), foreign, foreign ? null : Tokens.instance(owner), 0, 0, grace);
	}

}
