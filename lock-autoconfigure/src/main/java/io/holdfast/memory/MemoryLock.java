package io.holdfast.memory;

import java.util.List;

import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Tokens;
import io.holdfast.memory.StoredPermits.StoredHolder;
import org.jspecify.annotations.Nullable;

/**
 * Lock with an exclusive owner or readers, and one queue for both modes.
 */
final class MemoryLock extends MemoryResource {

	private static final long NEVER = Long.MAX_VALUE;

	private @Nullable String owner;

	private long expiresAt;

	/** Token of the first waiter that was seen waiting for readers. */
	private String waitingForReaders = "";

	private long waitingForReadersSince;

	MemoryLock(MemoryLeases leases, Resource resource) {
		super(leases, resource, HandOverLimits.STRIDE);
	}

	@Override
	AcquireReply acquire(AcquireCommand command, boolean polls, boolean enqueue) {
		String token = command.token();
		Granted held = lengthen(command);
		if (held != null) {
			leave(token);
			settle();
			return held;
		}
		boolean served = settle(token, command.leaseMillis());
		boolean fits = this.owner == null && this.queue.isEmpty() && (reads(command) || this.holders.isEmpty());
		if (!served && fits && this.leases.grace() == 0) {
			hold(token, reads(command), command.leaseMillis());
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
	ReleaseReply release(String token, @Nullable AcquireCommand next, boolean nextPolls) {
		int place = place(token);
		boolean keepsPlace = next != null && place >= 0 && !reads(this.queue.get(place).command()) && !reads(next);
		if (place >= 0) {
			this.queue.remove(place);
		}
		boolean released = end(token);
		if (next != null && (released || place >= 0) && !holds(next.token())) {
			enqueue(next, nextPolls, keepsPlace ? place : this.queue.size());
		}
		settle((next != null) ? next.token() : "", (next != null) ? next.leaseMillis() : 0);
		AcquireReply reply = (next != null) ? lengthen(next) : null;
		if (reply == null && next != null && place(next.token()) >= 0) {
			reply = busy();
		}
		return released(released, reply);
	}

	@Override
	boolean renew(Renewal renewal) {
		String token = renewal.token();
		boolean reads = renewal.permits() == 1;
		boolean open = this.owner == null && (reads || this.holders.isEmpty());
		if (holds(token, reads)) {
			lengthen(token, renewal.leaseMillis());
		}
		else if (open && this.leases.grace() > 0) {
			// Lost by the fail-over. Nothing else was granted yet, so that the lease can
			// be restored.
			put(token, reads, renewal.leaseMillis());
		}
		return holds(token, reads);
	}

	@Override
	ReleaseReply retain(Renewal lease) {
		boolean reads = lease.permits() == 1;
		boolean holds = holds(lease.token(), reads);
		if (holds) {
			put(lease.token(), reads, lease.leaseMillis());
		}
		return released(holds, null);
	}

	@Override
	Standing inspect(int maxHolders, int maxWaiters) {
		List<TokenState> holders = (this.owner != null) ? List.of(new TokenState(this.owner, Resource.ALL, ttl()))
				: holderStates(maxHolders);
		return new Standing(this.resource, ttl(), lastFence(), null, 0, 0,
				(this.owner != null) ? 1 : this.holders.size(), holders, this.queue.size(), waiterStates(maxWaiters));
	}

	boolean takeIfFree(String foreigner, long ttlMillis) {
		boolean free = this.owner == null && this.holders.isEmpty();
		if (free) {
			this.owner = foreigner;
			this.expiresAt = (ttlMillis < 0) ? NEVER : this.leases.after(ttlMillis);
		}
		return free;
	}

	@Override
	boolean isIdle(long now) {
		return (this.owner == null || this.expiresAt <= now) && (this.queue.isEmpty() || this.queueExpiresAt <= now)
				&& (this.holders.isEmpty() || this.holders.lastToEnd().expiresAt() <= now);
	}

	private static boolean reads(AcquireCommand command) {
		return command.permits() == 1;
	}

	private boolean holds(String token) {
		return holds(token, false) || holds(token, true);
	}

	private boolean holds(String token, boolean reads) {
		return reads ? this.holders.contains(token) : token.equals(this.owner);
	}

	/**
	 * Return the time left of the key, in milliseconds; -1 without expiry, 0 if the lock
	 * is free.
	 */
	private long ttl() {
		if (this.owner == null) {
			return this.holders.isEmpty() ? 0 : this.leases.millisUntil(this.holders.lastToEnd().expiresAt());
		}
		return (this.expiresAt == NEVER) ? -1 : this.leases.millisUntil(this.expiresAt);
	}

	@Override
	boolean end(String token) {
		if (token.equals(this.owner)) {
			this.owner = null;
			return true;
		}
		return this.holders.remove(token) != null;
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
		while (!this.queue.isEmpty() && this.owner == null && this.leases.grace() == 0) {
			Queued head = this.queue.get(0);
			boolean reads = reads(head.command());
			boolean isCandidate = head.token().equals(candidate);
			boolean hasToWait = !reads && !this.holders.isEmpty();
			if (hasToWait && isCandidate) {
				see(head);
			}
			if (hasToWait && (isCandidate || seesAsPresent(head))) {
				break;
			}
			this.queue.remove(0);
			if (isCandidate) {
				hold(head.token(), reads, leaseMillis);
				served = true;
			}
			else if (!hasToWait && (head.polls() || !this.leases.isAbsent(head.token()))) {
				hold(head.token(), reads, head.command().claimMillis());
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

	private void hold(String token, boolean reads, long millis) {
		put(token, reads, millis);
		advanceFence();
	}

	private void put(String token, boolean reads, long millis) {
		if (reads) {
			this.holders.put(new StoredHolder(token, 1, this.leases.after(millis)));
		}
		else {
			this.owner = token;
			this.expiresAt = this.leases.after(millis);
		}
	}

	private @Nullable Granted lengthen(AcquireCommand command) {
		return holds(command.token()) ? lengthen(command.token(), command.leaseMillis()) : null;
	}

	private Granted lengthen(String token, long millis) {
		StoredHolder reader = lengthenHolder(token, millis);
		if (reader == null) {
			this.expiresAt = Math.max(this.expiresAt, this.leases.after(millis));
		}
		return new Granted(lastFence(),
				this.leases.millisUntil((reader != null) ? reader.expiresAt() : this.expiresAt));
	}

	private Busy busy() {
		long last = busyFence();
		if (this.owner == null) {
			return new Busy(Math.max(ttl(), this.leases.grace()), last, false, null, this.holders.size(), 0);
		}
		boolean foreign = !Tokens.isToken(this.owner);
		return new Busy(ttl(), last, foreign, foreign ? null : Tokens.instance(this.owner), 0, 0);
	}

	@Override
	void expire() {
		if (this.owner != null && this.expiresAt <= this.leases.now()) {
			this.owner = null;
		}
		if (this.queueExpiresAt <= this.leases.now()) {
			this.queue.clear();
		}
		this.holders.removeUntil(this.leases.now());
	}

}
