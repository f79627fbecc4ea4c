package io.holdfast.memory;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.memory.StoredPermits.StoredHolder;
import org.jspecify.annotations.Nullable;

/**
 * Lock or semaphore with its fencing tokens, which increase with each grant and are never
 * less than the clock. {@link MemoryLeases} runs one command at a time.
 */
abstract sealed class MemoryResource permits MemoryLock, MemoryPermits {

	final MemoryLeases leases;

	final Resource resource;

	/** Holders. An exclusive owner of a lock has all permits, a reader has one. */
	final StoredPermits holders = new StoredPermits();

	/** Waiters in order. */
	final List<Queued> queue = new ArrayList<>();

	/** Time, in microseconds, by which each living waiter will have asked again. */
	private long queueExpiresAt;

	private final long stride;

	/** Upper bound of the fences that were granted before this object was created. */
	private final long forgottenFence;

	/** Fence of the last grant, 0 if there was none. */
	private long lastFence;

	MemoryResource(MemoryLeases leases, Resource resource, long stride) {
		this.leases = leases;
		this.resource = resource;
		this.stride = stride;
		this.forgottenFence = leases.now() - 1;
	}

	abstract AcquireReply acquire(AcquireCommand command, boolean polls, boolean enqueue);

	abstract boolean renew(Renewal renewal);

	abstract Standing inspect(int maxHolders, int maxWaiters);

	/** Grant the resource to the heads of the queue as long as they fit. */
	abstract void settle();

	/** End a token that holds or waits, and process the request of a next token. */
	final ReleaseReply release(String token, @Nullable AcquireCommand next, boolean nextPolls) {
		int place = place(token);
		AcquireCommand left = (place >= 0) ? this.queue.remove(place).command() : null;
		boolean released = end(token);
		boolean known = next != null && (place(next.token()) >= 0 || this.holders.contains(next.token()));
		if (next == null || !released && left == null && !known) {
			settle();
			return released(released, null);
		}
		if (left != null && !known && isExclusive(left) && isExclusive(next)) {
			enqueue(next, nextPolls, place);
		}
		return released(released, acquire(next, nextPolls, true));
	}

	private boolean isExclusive(AcquireCommand command) {
		return this.resource.kind() == Kind.LOCK && command.permits() == Resource.ALL;
	}

	/** Return the time at which the queue expires, in microseconds. */
	long queueExpiresAt() {
		return this.queueExpiresAt;
	}

	/** Remove expired leases and waiters before a command. */
	final void expire() {
		this.holders.removeUntil(this.leases.now());
		if (queueExpiresAt() <= this.leases.now()) {
			this.queue.clear();
		}
	}

	final boolean isIdle(long now) {
		return (this.holders.isEmpty() || this.holders.lastToEnd().expiresAt() <= now)
				&& (this.queue.isEmpty() || queueExpiresAt() <= now);
	}

	/** Set the end of the lease of a token, also to an earlier time. */
	final ReleaseReply retain(Renewal lease) {
		boolean held = holds(lease);
		if (held) {
			put(lease.token(), lease.permits(), this.leases.after(lease.leaseMillis()));
		}
		return released(held, null);
	}

	/** Return whether a token holds the permits of a lease. */
	final boolean holds(Renewal lease) {
		StoredHolder held = this.holders.find(lease.token());
		return held != null && held.permits() == lease.permits();
	}

	final void put(String token, int permits, long expiresAt) {
		this.holders.put(new StoredHolder(token, permits, expiresAt));
	}

	final void hold(AcquireCommand command, long millis) {
		put(command.token(), command.permits(), this.leases.after(millis));
		advanceFence();
	}

	/** End the lease of a token. Returns whether the token had a lease. */
	final boolean end(String token) {
		return this.holders.remove(token) != null;
	}

	List<Boolean> force(List<String> tokens) {
		List<Boolean> held = tokens.stream().map(this::end).toList();
		for (int i = 0; i < tokens.size(); i++) {
			if (held.get(i)) {
				this.leases.tellEnded(tokens.get(i), nextFence());
			}
		}
		settle();
		return held;
	}

	/** Return the reply to a release. During a grace time, a loss is not certain. */
	final ReleaseReply released(boolean released, @Nullable AcquireReply next) {
		return new ReleaseReply(released, next, released || this.leases.grace() == 0);
	}

	/**
	 * Return whether this object can be dropped: it is idle, and the clock determines the
	 * next fence.
	 */
	boolean isDispensable(long now) {
		return isIdle(now) && this.lastFence + this.stride < now;
	}

	/**
	 * Return the time without a question after which a waiter counts as gone, in
	 * microseconds.
	 */
	final long patience(AcquireCommand command) {
		return 2000 * Math.max(command.claimMillis(), this.leases.handoffMillis());
	}

	/** Return the position of a token in the queue, or -1. */
	final int place(String token) {
		for (int i = 0; i < this.queue.size(); i++) {
			if (this.queue.get(i).token().equals(token)) {
				return i;
			}
		}
		return -1;
	}

	/** Queue a waiter, at its current position or at a new position. */
	final void enqueue(AcquireCommand command, boolean polls, int newPlace) {
		int place = place(command.token());
		Queued queued = new Queued(command, polls, this.leases.now());
		if (place >= 0) {
			this.queue.set(place, queued);
		}
		else {
			this.queue.add(newPlace, queued);
		}
		this.queueExpiresAt = Math.max(this.queueExpiresAt, this.leases.now() + patience(command));
	}

	/** Remove a token from the queue. Returns whether it was queued. */
	final boolean leave(String token) {
		return this.queue.removeIf((queued) -> queued.token().equals(token));
	}

	/** Extend the lease of a token. Returns {@code null} if the token holds nothing. */
	final @Nullable Granted lengthen(String token, long millis) {
		StoredHolder held = this.holders.find(token);
		if (held == null) {
			return null;
		}
		long expiresAt = Math.max(held.expiresAt(), this.leases.after(millis));
		put(token, held.permits(), expiresAt);
		return new Granted(this.lastFence, this.leases.millisUntil(expiresAt));
	}

	/** Return the state of the first holders. */
	final List<TokenState> holderStates(int most) {
		return this.holders.first(most)
			.map((held) -> new TokenState(held.token(), held.permits(), this.leases.millisUntil(held.expiresAt())))
			.toList();
	}

	/** Return the state of the first waiters. */
	final List<TokenState> waiterStates(int most) {
		return this.queue.stream()
			.limit(most)
			.map((queued) -> new TokenState(queued.token(), queued.command().permits(), 0))
			.toList();
	}

	final long lastFence() {
		return this.lastFence;
	}

	final long advanceFence() {
		this.lastFence = nextFence();
		return this.lastFence;
	}

	private long nextFence() {
		return Math.max(this.lastFence + this.stride, this.leases.now());
	}

	/**
	 * Return a fence that is not below those of all earlier grants, and below those of
	 * all later grants.
	 */
	final long busyFence() {
		return Math.max(Math.max(this.lastFence, this.forgottenFence), this.leases.serverSince());
	}

	/**
	 * A waiter.
	 *
	 * @param command the last request
	 * @param polls whether the waiter polls because it receives no notifications
	 * @param stampedAt the time of the last request, in microseconds
	 */
	record Queued(AcquireCommand command, boolean polls, long stampedAt) {

		String token() {
			return this.command.token();
		}

	}

}
