package io.holdfast.memory;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

import org.jspecify.annotations.Nullable;

import io.holdfast.engine.LeaseStore.AcquireReply;
import io.holdfast.engine.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.LeaseStore.KeyState;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.ReleaseReply;
import io.holdfast.engine.LeaseStore.Renewal;
import io.holdfast.engine.LeaseStore.WakeUps;
import io.holdfast.engine.Resource;
import io.holdfast.engine.Resource.Kind;

/**
 * The leases that {@link MemoryLeaseStore}s of one JVM share: what the scripts do in
 * Redis, in Java. Its clock is the server's. Thread-safe.
 */
public final class MemoryLeases {

	/** As in Redis: room for grants inside an instance. */
	private static final long STRIDE = 64;

	private final LongSupplier nanoTime;

	private final long epochMicros;

	private final Map<String, Entry> entries = new HashMap<>();

	private final Map<String, Listener> listeners = new HashMap<>();

	/**
	 * Create a world without leases.
	 * @param nanoTime its clock, in nanoseconds
	 */
	public MemoryLeases(LongSupplier nanoTime) {
		this.nanoTime = nanoTime;
		this.epochMicros = System.currentTimeMillis() * 1000 - nanoTime.getAsLong() / 1000;
	}

	synchronized void listen(String instanceId, WakeUps wakeUps, BooleanSupplier reachable) {
		this.listeners.put(instanceId, new Listener(wakeUps, reachable));
	}

	synchronized void unlisten(String instanceId) {
		this.listeners.remove(instanceId);
	}

	AcquireReply acquire(String key, Queued asking, long leaseMillis, boolean enqueue) {
		return change(key, (entry, wakeUps) -> {
			if (entry.owner == null) {
				settle(key, entry, asking.token(), wakeUps);
			}
			if (entry.owner == null) {
				own(entry, asking.token(), leaseMillis);
			}
			if (asking.token().equals(entry.owner)) {
				entry.queue.removeIf(asking::sameToken);
				entry.expiresAt = Math.max(entry.expiresAt, after(leaseMillis));
				return new Granted(entry.fence, ttl(entry));
			}
			if (enqueue) {
				enqueue(entry, asking, entry.queue.size());
			}
			return busy(entry);
		});
	}

	ReleaseReply release(String key, String token, @Nullable Ask next, boolean nextPolls) {
		return change(key, (entry, wakeUps) -> {
			int place = entry.place(token);
			entry.queue.removeIf((queued) -> queued.token().equals(token));
			boolean released = token.equals(entry.owner);
			if (released) {
				entry.owner = null;
			}
			String nextToken = (next != null) ? next.token() : "";
			if (next != null && (released || place >= 0) && !nextToken.equals(entry.owner)) {
				enqueue(entry, new Queued(nextToken, next.claimMillis(), nextPolls),
						(place >= 0) ? place : entry.queue.size());
			}
			if (entry.owner == null) {
				settle(key, entry, nextToken, wakeUps);
			}
			if (next == null) {
				return new ReleaseReply(released, null);
			}
			if (nextToken.equals(entry.owner)) {
				entry.expiresAt = Math.max(entry.expiresAt, after(next.leaseMillis()));
				return new ReleaseReply(released, new Granted(entry.fence, ttl(entry)));
			}
			return new ReleaseReply(released, (entry.place(nextToken) >= 0) ? busy(entry) : null);
		});
	}

	List<Boolean> renew(List<Renewal> renewals) {
		List<Boolean> owned = new ArrayList<>(renewals.size());
		for (Renewal renewal : renewals) {
			owned.add(change(renewal.resource().key(), (entry, wakeUps) -> {
				boolean owns = renewal.token().equals(entry.owner);
				if (owns && entry.expiresAt != Entry.NEVER) {
					entry.expiresAt = Math.max(entry.expiresAt, after(renewal.leaseMillis()));
				}
				return owns;
			}));
		}
		return owned;
	}

	KeyState inspect(String key) {
		return change(key, (entry, wakeUps) -> new KeyState(entry.owner, false, (entry.owner != null) ? ttl(entry) : 0,
				entry.fence, entry.queue.size()));
	}

	/**
	 * Take a key as a client other than Holdfast would: {@code SET key owner NX PX ttl}.
	 * @param key the key
	 * @param owner what it writes
	 * @param ttlMillis how long it is to last, -1 for no end
	 * @return whether the key was free
	 */
	public boolean takeIfFree(String key, String owner, long ttlMillis) {
		return change(key, (entry, wakeUps) -> {
			boolean free = entry.owner == null;
			if (free) {
				entry.owner = owner;
				entry.expiresAt = (ttlMillis < 0) ? Entry.NEVER : after(ttlMillis);
			}
			return free;
		});
	}

	/**
	 * Whether nothing is remembered of any key, apart from fencing tokens.
	 * @return whether nobody holds or waits for anything
	 */
	public synchronized boolean isIdle() {
		return this.entries.values().stream().allMatch((entry) -> {
			expire(entry);
			return entry.owner == null && entry.queue.isEmpty();
		});
	}

	private void settle(String key, Entry entry, String candidate, List<Runnable> wakeUps) {
		while (!entry.queue.isEmpty()) {
			Queued head = entry.queue.remove(0);
			own(entry, head.token(), head.claimMillis());
			if (head.token().equals(candidate)) {
				return;
			}
			Listener listener = this.listeners.get(head.instanceId());
			boolean heard = listener != null && listener.reachable().getAsBoolean();
			if (listener != null && heard) {
				long fence = entry.fence;
				wakeUps.add(() -> listener.wakeUps()
					.handedOver(new Resource(Kind.LOCK, key), head.token(), fence, head.claimMillis()));
			}
			if (heard || head.polls()) {
				return;
			}
			entry.owner = null;
		}
	}

	private void own(Entry entry, String token, long millis) {
		entry.owner = token;
		entry.expiresAt = after(millis);
		entry.fence = Math.max(entry.fence + STRIDE, nowMicros());
	}

	private Busy busy(Entry entry) {
		return new Busy(ttl(entry), Math.max(entry.fence, entry.forgotten),
				entry.owner == null || !MemoryLeaseStore.TOKEN.matcher(entry.owner).matches());
	}

	private long ttl(Entry entry) {
		return (entry.expiresAt == Entry.NEVER) ? -1 : Math.max(0, (entry.expiresAt - nowMicros()) / 1000);
	}

	private long nowMicros() {
		return this.epochMicros + this.nanoTime.getAsLong() / 1000;
	}

	private long after(long millis) {
		return nowMicros() + millis * 1000;
	}

	private void enqueue(Entry entry, Queued queued, int place) {
		entry.enqueue(queued, place);
		// Four times the re-send time: whoever still waits has asked again by then.
		entry.queueExpiresAt = Math.max(entry.queueExpiresAt, after(2 * queued.claimMillis()));
	}

	private void expire(Entry entry) {
		if (entry.owner != null && entry.expiresAt <= nowMicros()) {
			entry.owner = null;
		}
		if (entry.queueExpiresAt <= nowMicros()) {
			entry.queue.clear();
		}
	}

	/** One command: atomic, and the wake-ups it causes after it. */
	private <T> T change(String key, Command<T> command) {
		List<Runnable> wakeUps = new ArrayList<>(1);
		T reply;
		synchronized (this) {
			Entry entry = this.entries.computeIfAbsent(key, (k) -> new Entry(nowMicros() - 1));
			expire(entry);
			reply = command.run(entry, wakeUps);
			// A fence below the clock is not needed to make the next one greater.
			if (entry.owner == null && entry.queue.isEmpty() && entry.fence + STRIDE < nowMicros()) {
				this.entries.remove(key);
			}
		}
		wakeUps.forEach(Runnable::run);
		return reply;
	}

	private interface Command<T> {

		T run(Entry entry, List<Runnable> wakeUps);

	}

	private record Listener(WakeUps wakeUps, BooleanSupplier reachable) {
	}

	record Queued(String token, long claimMillis, boolean polls) {

		String instanceId() {
			return this.token.substring(0, Math.max(0, this.token.indexOf(':')));
		}

		boolean sameToken(Queued other) {
			return this.token.equals(other.token);
		}

	}

	private static final class Entry {

		private static final long NEVER = Long.MAX_VALUE;

		private @Nullable String owner;

		/** Not below any fence that was given out before this entry was there. */
		private final long forgotten;

		private long expiresAt;

		private long fence;

		private final List<Queued> queue = new ArrayList<>();

		private long queueExpiresAt;

		private Entry(long forgotten) {
			this.forgotten = forgotten;
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
		}

	}

}
