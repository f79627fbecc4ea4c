package io.holdfast.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import io.holdfast.engine.FleetStore.Place;
import io.holdfast.engine.FleetStore.Standing;
import io.holdfast.engine.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.LeaseStore.AcquireReply;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.KeyState;
import io.holdfast.engine.LeaseStore.ReleaseReply;
import io.holdfast.engine.LocalHandOver;
import io.holdfast.engine.Resource.Kind;
import io.holdfast.engine.Resource;

/**
 * A key of locks: who has it exclusively, and its readers and writers, of whom there are
 * none meanwhile. {@link MemoryLeases} sees to it that one command runs at a time.
 */
final class MemoryLock {

	private static final long NEVER = Long.MAX_VALUE;

	/** For those who may keep a lock that nobody else wants, and take it again. */
	private static final int TOLD_FENCES = 1024;

	/** Tokens whose instance wants to be told when others want what they hold. */
	private static final Pattern TOLD = Pattern.compile("[0-9a-f]{32}:0[0-9]+");

	private final MemoryLeases leases;

	private final Resource resource;

	private final MemoryFence fence;

	/** Who read or write, or wait for that. */
	private final MemoryPermits shared;

	private final List<Queued> queue = new ArrayList<>();

	private @Nullable String owner;

	private long expiresAt;

	private long queueExpiresAt;

	MemoryLock(MemoryLeases leases, String key) {
		this(leases, key, new MemoryFence(LocalHandOver.STRIDE, leases.now()));
	}

	private MemoryLock(MemoryLeases leases, String key, MemoryFence fence) {
		this.leases = leases;
		this.resource = new Resource(Kind.LOCK, key);
		this.fence = fence;
		this.shared = new MemoryPermits(leases, new Resource(Kind.READ_WRITE, key), this.fence, this);
	}

	/** The same, of which each goes its own way. */
	MemoryLock copy() {
		MemoryLock copy = new MemoryLock(this.leases, this.resource.key(), this.fence.copy());
		copy.shared.take(this.shared);
		copy.queue.addAll(this.queue);
		copy.owner = this.owner;
		copy.expiresAt = this.expiresAt;
		copy.queueExpiresAt = this.queueExpiresAt;
		return copy;
	}

	MemoryPermits shared() {
		return this.shared;
	}

	AcquireReply acquire(Ask ask, boolean polls, boolean enqueue) {
		expire();
		if (isFree()) {
			settle(ask.token());
		}
		if (isFree() && this.leases.grace() == 0) {
			own(ask.token(), ask.leaseMillis());
			return granted(ask.token());
		}
		if (ask.token().equals(this.owner)) {
			this.queue.removeIf((queued) -> queued.token().equals(ask.token()));
			return lengthen(ask.leaseMillis());
		}
		if (this.owner != null && TOLD.matcher(this.owner).matches()
				&& (this.queue.isEmpty() || this.queue.get(0).token().equals(ask.token()))) {
			// Who is behind others need not say so, as they have done it.
			this.leases.tellWanted(this.resource, this.owner);
		}
		if (enqueue) {
			enqueue(new Queued(ask.token(), ask.claimMillis(), polls), this.queue.size());
		}
		return busy();
	}

	/**
	 * To one whom nobody has come before, or waits behind. Fences that are ahead of the
	 * clock are not to get there further.
	 */
	private Granted granted(String token) {
		boolean told = TOLD.matcher(token).matches() && this.queue.isEmpty() && this.fence.last() <= this.leases.now();
		Granted granted = new Granted(this.fence.last(), ttl(), told ? TOLD_FENCES : LocalHandOver.STRIDE);
		this.fence.leave(granted.fences());
		return granted;
	}

	ReleaseReply release(String token, @Nullable Ask next, boolean nextPolls) {
		expire();
		if (next != null && token.equals(this.owner) && this.queue.isEmpty() && this.leases.grace() == 0) {
			own(next.token(), next.leaseMillis());
			return new ReleaseReply(true, granted(next.token()));
		}
		int place = place(token);
		this.queue.removeIf((queued) -> queued.token().equals(token));
		boolean released = token.equals(this.owner);
		if (released) {
			this.owner = null;
		}
		String nextToken = (next != null) ? next.token() : "";
		if (next != null && (released || place >= 0) && !nextToken.equals(this.owner)) {
			enqueue(new Queued(nextToken, next.claimMillis(), nextPolls), (place >= 0) ? place : this.queue.size());
		}
		if (isFree()) {
			settle(nextToken);
		}
		AcquireReply reply = null;
		if (next != null && nextToken.equals(this.owner)) {
			reply = lengthen(next.leaseMillis());
		}
		else if (next != null && place(nextToken) >= 0) {
			reply = busy();
		}
		return new ReleaseReply(released, reply, released || this.leases.grace() == 0);
	}

	boolean renew(String token, long leaseMillis) {
		expire();
		boolean owns = token.equals(this.owner);
		if (owns) {
			lengthen(leaseMillis);
		}
		else if (isFree() && this.leases.grace() > 0) {
			// It went with the server before, and nobody else has got it yet.
			this.owner = token;
			this.expiresAt = this.leases.after(leaseMillis);
			return true;
		}
		return owns;
	}

	ReleaseReply retain(String token, long millis) {
		expire();
		boolean owns = token.equals(this.owner);
		if (owns) {
			this.expiresAt = this.leases.after(millis);
		}
		return new ReleaseReply(owns, null, owns || this.leases.grace() == 0);
	}

	KeyState inspect() {
		boolean read = this.shared.isHeld();
		return new KeyState(read ? "" : owner(), read, isFree() ? 0 : ttl(), this.fence.last(), this.queue.size());
	}

	Standing look(int most) {
		boolean held = owner() != null;
		Standing others = this.shared.look(most);
		Resource what = (others.holderCount() > 0 || !held && this.queue.isEmpty() && others.waiting() > 0)
				? others.resource() : this.resource;
		List<Place> holders = held ? List.of(Place.of(Objects.requireNonNull(this.owner), Kind.LOCK, 1, ttl()))
				: others.holders();
		Stream<Place> own = this.queue.stream().limit(most).map((queued) -> Place.of(queued.token(), Kind.LOCK, 1, 0));
		return new Standing(what, this.fence.last(), null, 0, 0, held ? 1 : others.holderCount(), holders,
				this.queue.size() + others.waiting(), Stream.concat(own, others.queue().stream()).toList());
	}

	boolean takeIfFree(String foreigner, long ttlMillis) {
		expire();
		boolean free = isFree();
		if (free) {
			this.owner = foreigner;
			this.expiresAt = (ttlMillis < 0) ? NEVER : this.leases.after(ttlMillis);
		}
		return free;
	}

	/** Who has it exclusively. */
	@Nullable String owner() {
		expire();
		return this.owner;
	}

	/** How long whoever has it keeps it, in whatever way; -1 for no end. */
	long ttl() {
		if (owner() == null) {
			return this.shared.lastTtl();
		}
		return (this.expiresAt == NEVER) ? -1 : this.leases.millisUntil(this.expiresAt);
	}

	boolean isIdle() {
		return isFree() && this.queue.isEmpty() && this.shared.isIdle();
	}

	boolean isDispensable() {
		return isIdle() && this.fence.isDispensable(this.leases.now());
	}

	private boolean isFree() {
		return owner() == null && !this.shared.isHeld();
	}

	private void settle(String candidate) {
		while (!this.queue.isEmpty() && this.leases.grace() == 0) {
			Queued head = this.queue.remove(0);
			own(head.token(), head.claimMillis());
			if (head.token().equals(candidate)
					|| this.leases.tell(this.resource, head.token(), this.fence.last(), head.claimMillis())
					|| head.polls()) {
				return;
			}
			this.owner = null;
		}
	}

	private void own(String token, long millis) {
		this.owner = token;
		this.expiresAt = this.leases.after(millis);
		this.fence.advance(this.leases.now());
	}

	private Granted lengthen(long millis) {
		this.expiresAt = Math.max(this.expiresAt, this.leases.after(millis));
		return new Granted(this.fence.last(), ttl(), this.fence.room());
	}

	private Busy busy() {
		long last = Math.max(this.fence.lastOrForgotten(), this.leases.serverSince());
		if (isFree()) {
			return new Busy(this.leases.grace(), last, false);
		}
		return new Busy(ttl(), last, this.owner == null || !MemoryLeaseStore.TOKEN.matcher(this.owner).matches());
	}

	private int place(String token) {
		for (int i = 0; i < this.queue.size(); i++) {
			if (this.queue.get(i).token().equals(token)) {
				return i;
			}
		}
		return -1;
	}

	private void enqueue(Queued queued, int newPlace) {
		int place = place(queued.token());
		if (place >= 0) {
			this.queue.set(place, queued);
		}
		else {
			this.queue.add(newPlace, queued);
		}
		// Four times the re-send time: whoever still waits has asked again by then.
		this.queueExpiresAt = Math.max(this.queueExpiresAt, this.leases.after(2 * queued.claimMillis()));
	}

	private void expire() {
		if (this.owner != null && this.expiresAt <= this.leases.now()) {
			this.owner = null;
		}
		if (this.queueExpiresAt <= this.leases.now()) {
			this.queue.clear();
		}
	}

	private record Queued(String token, long claimMillis, boolean polls) {
	}

}
