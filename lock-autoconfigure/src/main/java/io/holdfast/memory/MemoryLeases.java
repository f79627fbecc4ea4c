package io.holdfast.memory;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.engine.store.FleetStore.Family;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;

/**
 * The leases that {@link MemoryLeaseStore}s of one JVM share: the scripts of Redis, in
 * Java. Its clock is the server's. Thread-safe.
 *
 * @since 0.1.0
 */
public final class MemoryLeases {

	private static final int SWEPT_FROM = 1000;

	/** How many holders of a key are named. */
	private static final int MOST_NAMED = 10;

	private final MemoryServer server;

	final Map<String, MemoryLock> locks = new HashMap<>();

	final Map<String, MemoryPermits> semaphores = new HashMap<>();

	private final MemoryInstances instances = new MemoryInstances();

	private int sweptAt = SWEPT_FROM;

	/**
	 * Create a world without leases, with a hand-off timeout of 5 seconds.
	 * @param nanoTime its clock, in nanoseconds
	 */
	public MemoryLeases(LongSupplier nanoTime) {
		this(nanoTime, Duration.ofSeconds(5));
	}

	/**
	 * Create a world without leases.
	 * @param nanoTime its clock, in nanoseconds
	 * @param handoffTimeout how long a hand-off is granted at first. A waiter for permits
	 * that has not asked again for twice that is gone
	 */
	public MemoryLeases(LongSupplier nanoTime, Duration handoffTimeout) {
		this.server = new MemoryServer(nanoTime, handoffTimeout.toMillis());
	}

	/** One command on a key of locks. */
	<T> T lock(String key, Function<MemoryLock, T> command) {
		return run(() -> {
			MemoryLock lock = this.locks.computeIfAbsent(key, (k) -> new MemoryLock(this.server, k));
			lock.expire();
			T reply = command.apply(lock);
			if (lock.isDispensable(this.server.now())) {
				this.locks.remove(key);
			}
			return reply;
		});
	}

	/** One command on permits. */
	<T> T permits(Resource resource, Function<MemoryPermits, T> command) {
		String key = resource.key();
		return run(() -> {
			MemoryPermits permits = this.semaphores.computeIfAbsent(key,
					(k) -> new MemoryPermits(this.server, resource));
			permits.expire();
			T reply = command.apply(permits);
			if (permits.isDispensable(this.server.now())) {
				this.semaphores.remove(key);
			}
			return reply;
		});
	}

	/** Some of the keys, in their order: those behind one. */
	List<String> keys(Family family, String behind, int most) {
		return run(() -> ((family == Family.SEMAPHORES) ? this.semaphores : this.locks).keySet()
			.stream()
			.filter((key) -> key.compareTo(behind) > 0)
			.sorted()
			.limit(most)
			.toList());
	}

	/** One command: atomic, at one time, and the wake-ups it causes after it. */
	private <T> T run(Supplier<T> command) {
		List<Runnable> caused;
		T reply;
		synchronized (this) {
			this.server.begin();
			reply = command.get();
			if (size() > this.sweptAt) {
				// Leases that ended by time, and were not asked for again.
				long now = this.server.now();
				this.locks.values().removeIf((lock) -> lock.isDispensable(now));
				this.semaphores.values().removeIf((permits) -> permits.isDispensable(now));
				this.sweptAt = Math.max(SWEPT_FROM, 2 * size());
			}
			caused = this.server.end();
		}
		caused.forEach(Runnable::run);
		return reply;
	}

	/**
	 * Take a key as a client other than Holdfast would: {@code SET key owner NX PX ttl}.
	 * @param key the key
	 * @param owner its value
	 * @param ttlMillis how long it is to last, -1 for no end
	 * @return whether the key was free
	 */
	public boolean takeIfFree(String key, String owner, long ttlMillis) {
		return lock(key, (lock) -> lock.takeIfFree(owner, ttlMillis));
	}

	/**
	 * Lose all that is stored, as a Redis without persistence does when it is restarted.
	 */
	public synchronized void clear() {
		this.locks.clear();
		this.semaphores.clear();
		this.instances.clear();
	}

	/**
	 * Return whether nothing is remembered of any key, apart from fencing tokens and
	 * limits that an operator has set.
	 * @return whether there is neither a holder nor a waiter
	 */
	public synchronized boolean isIdle() {
		long now = this.server.clock();
		return this.locks.values().stream().allMatch((lock) -> lock.isIdle(now))
				&& this.semaphores.values().stream().allMatch((permits) -> permits.isIdle(now));
	}

	/**
	 * Return the holders and waiters, in words.
	 * @return keys, the instances that hold them and for how long, and how many wait
	 */
	@Override
	public synchronized String toString() {
		this.server.begin();
		this.locks.values().forEach(MemoryLock::expire);
		this.semaphores.values().forEach(MemoryPermits::expire);
		long now = this.server.now();
		String all = Stream.concat(
				this.locks.values().stream().filter((lock) -> !lock.isIdle(now)).map((lock) -> lock.look(MOST_NAMED)),
				this.semaphores.values()
					.stream()
					.filter((permits) -> !permits.isIdle(now))
					.map((permits) -> permits.look(MOST_NAMED)))
			.map(MemoryLeases::describe)
			.sorted()
			.collect(Collectors.joining("; "));
		return all.isEmpty() ? "nothing is held or waited for" : all;
	}

	private static String describe(Standing standing) {
		String holders = standing.holders().stream().map(MemoryLeases::describe).collect(Collectors.joining(", "));
		int more = standing.holderCount() - standing.holders().size();
		return standing.resource() + (holders.isEmpty() ? " is not held" : " is held by " + holders)
				+ ((more > 0) ? " and " + more + " more" : "")
				+ ((standing.waiting() > 0) ? ", waited for by " + standing.waiting() : "");
	}

	private static String describe(TokenState holder) {
		return ((holder.instance() != null) ? "instance " + holder.instance() : "another client") + " ("
				+ ((holder.kind() == Kind.SEMAPHORE) ? holder.permits() + " permits, "
						: (holder.permits() == 1) ? "to read, " : "")
				+ ((holder.ttlMillis() < 0) ? "without an end" : holder.ttlMillis() + " ms left") + ")";
	}

	/** Of how many keys something is remembered. */
	synchronized int size() {
		return this.locks.size() + this.semaphores.size();
	}

	MemoryServer server() {
		return this.server;
	}

	MemoryInstances instances() {
		return this.instances;
	}

}
