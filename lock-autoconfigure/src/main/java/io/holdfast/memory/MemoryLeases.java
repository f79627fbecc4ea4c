package io.holdfast.memory;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

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

	final Map<Resource, MemoryResource> resources = new HashMap<>();

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

	/** One command on a lock or a semaphore. */
	<T> T run(Resource resource, Function<MemoryResource, T> command) {
		return run(() -> {
			MemoryResource found = this.resources.computeIfAbsent(resource, (absent) -> (absent.kind() == Kind.LOCK)
					? new MemoryLock(this.server, absent) : new MemoryPermits(this.server, absent));
			found.expire();
			T reply = command.apply(found);
			if (found.isDispensable(this.server.now())) {
				this.resources.remove(resource);
			}
			return reply;
		});
	}

	/** One command on a lock. */
	<T> T lock(Resource lock, Function<MemoryLock, T> command) {
		return run(lock, (found) -> command.apply((MemoryLock) found));
	}

	/** One command on a semaphore. */
	<T> T permits(Resource semaphore, Function<MemoryPermits, T> command) {
		return run(semaphore, (found) -> command.apply((MemoryPermits) found));
	}

	/** Some of the keys, in their order: those behind one. */
	List<String> keys(Kind kind, String behind, int most) {
		return run(() -> this.resources.keySet()
			.stream()
			.filter((resource) -> resource.kind() == kind && resource.key().compareTo(behind) > 0)
			.map(Resource::key)
			.sorted()
			.limit(most)
			.toList());
	}

	/** One command: atomic, at one time, and the wake-ups it causes after it. */
	<T extends @Nullable Object> T run(Supplier<T> command) {
		List<Runnable> caused;
		T reply;
		synchronized (this) {
			this.server.begin();
			reply = command.get();
			if (size() > this.sweptAt) {
				// Leases that ended by time, and were not asked for again.
				long now = this.server.now();
				this.resources.values().removeIf((resource) -> resource.isDispensable(now));
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
		return lock(new Resource(Kind.LOCK, key), (lock) -> lock.takeIfFree(owner, ttlMillis));
	}

	/**
	 * Lose all that is stored, as a Redis without persistence does when it is restarted.
	 */
	public synchronized void clear() {
		this.resources.clear();
		this.server.clear();
	}

	/**
	 * Return whether nothing is remembered of any key, apart from fencing tokens and
	 * limits that an operator has set.
	 * @return whether there is neither a holder nor a waiter
	 */
	public synchronized boolean isIdle() {
		long now = this.server.clock();
		return this.resources.values().stream().allMatch((resource) -> resource.isIdle(now));
	}

	/**
	 * Return the holders and waiters, in words.
	 * @return keys, the instances that hold them and for how long, and how many wait
	 */
	@Override
	public synchronized String toString() {
		this.server.begin();
		this.resources.values().forEach(MemoryResource::expire);
		long now = this.server.now();
		String all = this.resources.values()
			.stream()
			.filter((resource) -> !resource.isIdle(now))
			.map((resource) -> describe(resource.look(MOST_NAMED)))
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
		return this.resources.size();
	}

	MemoryServer server() {
		return this.server;
	}

}
