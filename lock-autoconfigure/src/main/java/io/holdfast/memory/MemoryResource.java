package io.holdfast.memory;

import java.util.List;

import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * A lock or a semaphore, and its fencing tokens: greater with each grant, and not less
 * than the clock. {@link MemoryLeases} sees to it that one command runs at a time.
 */
abstract sealed class MemoryResource permits MemoryLock, MemoryPermits {

	final MemoryServer server;

	final Resource resource;

	/** The holders of permits, or the readers of a lock. */
	final StoredPermits holders = new StoredPermits();

	private final long stride;

	/** Not below any fence that was given out before this object was there. */
	private final long forgottenFence;

	/** The last fence that was given out, 0 if none is remembered. */
	private long lastFence;

	MemoryResource(MemoryServer server, Resource resource, long stride) {
		this.server = server;
		this.resource = resource;
		this.stride = stride;
		this.forgottenFence = server.now() - 1;
	}

	abstract AcquireReply acquire(AcquireCommand command, boolean polls, boolean enqueue);

	abstract ReleaseReply release(String token, @Nullable AcquireCommand next, boolean nextPolls);

	abstract boolean renew(Renewal renewal);

	abstract ReleaseReply retain(Renewal lease);

	abstract Standing look(int most);

	abstract boolean isIdle(long now);

	/** Forget leases and waiters that are over, before a command. */
	abstract void expire();

	/** End the lease of a token, and return whether it had one. */
	abstract boolean end(String token);

	/** Grant to the heads of the queue for as long as they fit. */
	abstract void settle();

	List<Boolean> force(List<String> tokens) {
		List<Boolean> held = tokens.stream().map(this::end).toList();
		for (int i = 0; i < tokens.size(); i++) {
			if (held.get(i)) {
				this.server.tellEnded(tokens.get(i), nextFence());
			}
		}
		settle();
		return held;
	}

	/** Return the answer for a token, during a grace with doubt about a loss. */
	final ReleaseReply released(boolean released, @Nullable AcquireReply next) {
		return new ReleaseReply(released, next, released || this.server.grace() == 0);
	}

	/** Return whether nothing is to be remembered: the clock gives the next fence. */
	boolean isDispensable(long now) {
		return isIdle(now) && this.lastFence + this.stride < now;
	}

	/** Return how long a waiter may wait without asking again, in milliseconds. */
	final long patience(long claimMillis) {
		return 2 * Math.max(claimMillis, this.server.handoffMillis());
	}

	final long lastFence() {
		return this.lastFence;
	}

	final long advanceFence() {
		this.lastFence = nextFence();
		return this.lastFence;
	}

	private long nextFence() {
		return Math.max(this.lastFence + this.stride, this.server.now());
	}

	/** Return a fence that tells old hand-offs from new ones. */
	final long busyFence() {
		return Math.max(Math.max(this.lastFence, this.forgottenFence), this.server.serverSince());
	}

}
