package io.holdfast.memory;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.memory.StoredPermits.StoredHolder;
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

	/** The waiters, in their order. */
	final List<Queued> queue = new ArrayList<>();

	/** When all that still wait have asked again. */
	long queueExpiresAt;

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

	/** Return how long a waiter may wait without asking again, in microseconds. */
	final long patience(AcquireCommand command) {
		return 2000 * Math.max(command.claimMillis(), this.server.handoffMillis());
	}

	/** Return the place of a token in the queue, -1 if it has none. */
	final int place(String token) {
		for (int i = 0; i < this.queue.size(); i++) {
			if (this.queue.get(i).token().equals(token)) {
				return i;
			}
		}
		return -1;
	}

	/** Put a waiter at its former place in the queue, or at a new one. */
	final void enqueue(AcquireCommand command, boolean polls, int newPlace) {
		int place = place(command.token());
		Queued queued = new Queued(command, polls, this.server.now());
		if (place >= 0) {
			this.queue.set(place, queued);
		}
		else {
			this.queue.add(newPlace, queued);
		}
		this.queueExpiresAt = Math.max(this.queueExpiresAt, this.server.now() + patience(command));
	}

	/** Take a token out of the queue, and return whether it stood there. */
	final boolean leave(String token) {
		return this.queue.removeIf((queued) -> queued.token().equals(token));
	}

	/** Lengthen the lease of one of the holders; {@code null} if the token is none. */
	final @Nullable StoredHolder lengthenHolder(String token, long millis) {
		StoredHolder held = this.holders.find(token);
		if (held != null) {
			held = new StoredHolder(token, held.permits(), Math.max(held.expiresAt(), this.server.after(millis)));
			this.holders.put(held);
		}
		return held;
	}

	final List<PermitHolder> holders(int most) {
		return this.holders.first(most)
			.map((held) -> new PermitHolder(held.token(), held.permits(), this.server.millisUntil(held.expiresAt())))
			.toList();
	}

	/** Return the state of some holders. */
	final List<TokenState> holderStates(int most) {
		return holders(most).stream()
			.map((held) -> TokenState.of(held.token(), this.resource.kind(), held.permits(), held.ttlMillis()))
			.toList();
	}

	/** Return the state of some waiters. */
	final List<TokenState> waiterStates(int most) {
		return this.queue.stream()
			.limit(most)
			.map((queued) -> TokenState.of(queued.token(), this.resource.kind(), queued.command().permits(), 0))
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
		return Math.max(this.lastFence + this.stride, this.server.now());
	}

	/** Return a fence that tells old hand-offs from new ones. */
	final long busyFence() {
		return Math.max(Math.max(this.lastFence, this.forgottenFence), this.server.serverSince());
	}

	/**
	 * A waiter.
	 *
	 * @param command its last request
	 * @param polls whether it is not told of a grant
	 * @param stampedAt when it asked last
	 */
	record Queued(AcquireCommand command, boolean polls, long stampedAt) {

		String token() {
			return this.command.token();
		}

	}

}
