package io.holdfast.memory;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.memory.StoredPermits.StoredHolder;
import org.jspecify.annotations.Nullable;

/**
 * Lock or semaphore with its fencing tokens, which increase with each grant and are never
 * less than the clock. {@link MemoryLeases} runs one command at a time.
 */
abstract sealed class MemoryResource permits MemoryLock, MemoryPermits {

	final MemoryLeases leases;

	final Resource resource;

	/** Holders of permits, or readers of a lock. */
	final StoredPermits holders = new StoredPermits();

	/** Waiters in order. */
	final List<Queued> queue = new ArrayList<>();

	/** Time, in microseconds, by which each living waiter will have asked again. */
	long queueExpiresAt;

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

	abstract ReleaseReply release(String token, @Nullable AcquireCommand next, boolean nextPolls);

	abstract boolean renew(Renewal renewal);

	abstract ReleaseReply retain(Renewal lease);

	abstract Standing inspect(int maxHolders, int maxWaiters);

	abstract boolean isIdle(long now);

	/** Remove expired leases and waiters before a command. */
	abstract void expire();

	/** End the lease of a token. Returns whether the token had a lease. */
	abstract boolean end(String token);

	/** Grant the resource to the heads of the queue as long as they fit. */
	abstract void settle();

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

	/** Extend the lease of a holder. Returns {@code null} if the token holds nothing. */
	final @Nullable StoredHolder lengthenHolder(String token, long millis) {
		StoredHolder held = this.holders.find(token);
		if (held != null) {
			held = new StoredHolder(token, held.permits(), Math.max(held.expiresAt(), this.leases.after(millis)));
			this.holders.put(held);
		}
		return held;
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
