package io.holdfast.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * A key of locks: who has it exclusively, and its readers and writers, of whom there are
 * none then. {@link MemoryLeases} sees to it that one command runs at a time.
 */
final class MemoryLock implements ExclusiveLock {

	private static final long NEVER = Long.MAX_VALUE;

	/** What follows the token of a reader or writer that the key is kept for. */
	private static final String RESERVED = ":r";

	private static final Pattern KEPT = Pattern.compile("[0-9a-f]{32}:[0-9]+" + RESERVED);

	private final MemoryServer server;

	private final Resource resource;

	private final MemoryFence fence;

	/** Who read or write, or wait for that. */
	private final MemoryPermits shared;

	private final List<QueuedLock> queue = new ArrayList<>();

	private @Nullable String owner;

	private long expiresAt;

	private long queueExpiresAt;

	/** How many have come, of both queues. */
	private long arrivals;

	MemoryLock(MemoryServer server, String key) {
		this(server, key, new MemoryFence(HandOverLimits.STRIDE, server.now()));
	}

	private MemoryLock(MemoryServer server, String key, MemoryFence fence) {
		this.server = server;
		this.resource = new Resource(Kind.LOCK, key);
		this.fence = fence;
		this.shared = new MemoryPermits(server, new Resource(Kind.READ_WRITE, key), this.fence, this);
	}

	/** Return the same, of which each goes its own way. */
	MemoryLock copy() {
		MemoryLock copy = new MemoryLock(this.server, this.resource.key(), this.fence.copy());
		copy.shared.take(this.shared);
		copy.queue.addAll(this.queue);
		copy.owner = this.owner;
		copy.expiresAt = this.expiresAt;
		copy.queueExpiresAt = this.queueExpiresAt;
		copy.arrivals = this.arrivals;
		return copy;
	}

	MemoryPermits shared() {
		return this.shared;
	}

	AcquireReply acquire(AcquireCommand command, boolean polls, boolean enqueue) {
		if (isFree()) {
			settle(command.token());
		}
		if (isFree() && this.server.grace() == 0) {
			own(command.token(), command.leaseMillis());
			return granted();
		}
		if (command.token().equals(this.owner)) {
			this.queue.removeIf((queued) -> queued.token().equals(command.token()));
			return lengthen(command.leaseMillis());
		}
		if (enqueue) {
			enqueue(command, polls, this.queue.size());
		}
		return busy();
	}

	private Granted granted() {
		return new Granted(this.fence.last(), ttl());
	}

	ReleaseReply release(String token, @Nullable AcquireCommand next, boolean nextPolls) {
		if (next != null && token.equals(this.owner) && this.queue.isEmpty() && this.server.grace() == 0) {
			own(next.token(), next.leaseMillis());
			return new ReleaseReply(true, granted());
		}
		int place = place(token);
		this.queue.removeIf((queued) -> queued.token().equals(token));
		boolean released = token.equals(this.owner);
		if (released) {
			this.owner = null;
		}
		String nextToken = (next != null) ? next.token() : "";
		if (next != null && (released || place >= 0) && !nextToken.equals(this.owner)) {
			enqueue(next, nextPolls, (place >= 0) ? place : this.queue.size());
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
		return new ReleaseReply(released, reply, released || this.server.grace() == 0);
	}

	boolean force(String token) {
		boolean held = token.equals(this.owner);
		if (held) {
			this.server.tellEnded(token, this.fence.next(this.server.now()));
			release(token, null, false);
		}
		return held;
	}

	boolean renew(String token, long leaseMillis) {
		if (this.server.grace() > 0) {
			endReservation();
		}
		boolean owns = token.equals(this.owner);
		if (owns) {
			lengthen(leaseMillis);
		}
		else if (isFree() && this.server.grace() > 0) {
			// It went with the server before, and no other token has it yet.
			this.owner = token;
			this.expiresAt = this.server.after(leaseMillis);
			return true;
		}
		return owns;
	}

	ReleaseReply retain(String token, long millis) {
		boolean owns = token.equals(this.owner);
		if (owns) {
			this.expiresAt = this.server.after(millis);
		}
		return new ReleaseReply(owns, null, owns || this.server.grace() == 0);
	}

	KeyState inspect() {
		boolean read = this.shared.isHeld();
		boolean free = isFree() || isReserved();
		return new KeyState(read ? "" : free ? null : owner(), read, free ? 0 : ttl(), this.fence.last(), waiting());
	}

	@Override
	public int waiting() {
		return (int) waiters().count();
	}

	/** Those that wait for the key exclusively, in their order. */
	private Stream<QueuedLock> waiters() {
		return this.queue.stream().filter((queued) -> !queued.shared());
	}

	Standing look(int most) {
		boolean held = owner() != null && !isReserved();
		Standing others = this.shared.look(most);
		Resource what = (others.holderCount() > 0 || !held && waiting() == 0 && others.waiting() > 0)
				? others.resource() : this.resource;
		List<Place> holders = held ? List.of(Place.of(Objects.requireNonNull(this.owner), Kind.LOCK, 1, ttl()))
				: others.holders();
		Stream<Place> own = waiters().limit(most).map((queued) -> Place.of(queued.token(), Kind.LOCK, 1, 0));
		return new Standing(what, this.fence.last(), null, 0, 0, held ? 1 : others.holderCount(), holders,
				waiting() + others.waiting(), Stream.concat(own, others.queue().stream()).toList());
	}

	boolean takeIfFree(String foreigner, long ttlMillis) {
		boolean free = isFree();
		if (free) {
			this.owner = foreigner;
			this.expiresAt = (ttlMillis < 0) ? NEVER : this.server.after(ttlMillis);
		}
		return free;
	}

	@Override
	public @Nullable String owner() {
		return this.owner;
	}

	@Override
	public long ttl() {
		if (owner() == null) {
			return this.shared.lastTtl();
		}
		return (this.expiresAt == NEVER) ? -1 : this.server.millisUntil(this.expiresAt);
	}

	/** Return whether the key is only kept for the first reader or writer. */
	private boolean isReserved() {
		String current = owner();
		return current != null && KEPT.matcher(current).matches();
	}

	@Override
	public void endReservation() {
		if (isReserved()) {
			this.owner = null;
		}
	}

	@Override
	public long arrive() {
		return this.arrivals++;
	}

	@Override
	public void mark(AcquireCommand command, boolean polls, long arrival) {
		unmark();
		int place = (int) this.queue.stream().filter((queued) -> queued.arrival() < arrival).count();
		this.queue.add(place, new QueuedLock(command.token(), command.claimMillis(), polls, arrival, true));
		this.queueExpiresAt = Math.max(this.queueExpiresAt, this.server.after(2 * this.server.handoffMillis()));
	}

	@Override
	public void unmark() {
		this.queue.removeIf(QueuedLock::shared);
	}

	@Override
	public boolean isWanted(long arrival) {
		return waiters().anyMatch((queued) -> queued.arrival() < arrival);
	}

	@Override
	public void dropAbsent() {
		unmark();
		while (!this.queue.isEmpty() && !this.queue.get(0).polls() && this.server.isAbsent(this.queue.get(0).token())) {
			this.queue.remove(0);
		}
	}

	@Override
	public void grantFirst() {
		unmark();
		grant(this.queue.remove(0), "");
	}

	boolean isIdle(long now) {
		return (this.owner == null || this.expiresAt <= now) && (this.queue.isEmpty() || this.queueExpiresAt <= now)
				&& this.shared.isIdle(now);
	}

	boolean isDispensable(long now) {
		return isIdle(now) && this.fence.isDispensable(now);
	}

	private boolean isFree() {
		return owner() == null && !this.shared.isHeld();
	}

	private void settle(String candidate) {
		while (!this.queue.isEmpty() && this.server.grace() == 0) {
			if (grant(this.queue.remove(0), candidate)) {
				return;
			}
		}
	}

	/** Return whether the key was taken. */
	private boolean grant(QueuedLock head, String candidate) {
		own(head.shared() ? head.token() + RESERVED : head.token(), head.claimMillis());
		boolean taken = candidate.equals(this.owner)
				|| this.server.tell(head.shared() ? this.shared.resource() : this.resource, head.token(),
						this.fence.last(), head.shared() ? 0 : head.claimMillis())
				|| head.polls();
		if (!taken) {
			this.owner = null;
		}
		return taken;
	}

	private void own(String token, long millis) {
		this.owner = token;
		this.expiresAt = this.server.after(millis);
		this.fence.advance(this.server.now());
	}

	private Granted lengthen(long millis) {
		this.expiresAt = Math.max(this.expiresAt, this.server.after(millis));
		return granted();
	}

	private Busy busy() {
		long last = Math.max(this.fence.lastOrForgotten(), this.server.serverSince());
		if (isFree()) {
			return new Busy(this.server.grace(), last, false);
		}
		return new Busy(ttl(), last, this.owner == null || !Tokens.isToken(this.owner));
	}

	private int place(String token) {
		for (int i = 0; i < this.queue.size(); i++) {
			if (this.queue.get(i).token().equals(token)) {
				return i;
			}
		}
		return -1;
	}

	private void enqueue(AcquireCommand command, boolean polls, int newPlace) {
		int place = place(command.token());
		long arrival = (place >= 0) ? this.queue.get(place).arrival()
				: (newPlace < this.queue.size()) ? this.queue.get(newPlace).arrival() : arrive();
		QueuedLock queued = new QueuedLock(command.token(), command.claimMillis(), polls, arrival, false);
		if (place >= 0) {
			this.queue.set(place, queued);
		}
		else {
			this.queue.add(newPlace, queued);
		}
		// Four times the re-send time: a token that still waits has asked again by then.
		this.queueExpiresAt = Math.max(this.queueExpiresAt, this.server.after(2 * queued.claimMillis()));
	}

	/** Forget what is over, before a command. */
	void expire() {
		if (this.owner != null && this.expiresAt <= this.server.now()) {
			this.owner = null;
		}
		if (this.queueExpiresAt <= this.server.now()) {
			this.queue.clear();
		}
		this.shared.expire();
	}

	/**
	 * One that waits.
	 *
	 * @param token its token
	 * @param claimMillis how long it is granted the key at first
	 * @param polls whether it is not told of that
	 * @param arrival when it came, counted over both queues
	 * @param shared whether it stands for the first reader or writer
	 */
	record QueuedLock(String token, long claimMillis, boolean polls, long arrival, boolean shared) {
	}

}
