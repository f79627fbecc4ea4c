package io.holdfast.memory;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Leases that the {@link MemoryLeaseStore}s of a JVM share. Implements the behaviour of
 * the Redis scripts in Java. Thread-safe.
 *
 * @since 0.1.0
 */
public final class MemoryLeases {

	private static final int SWEPT_FROM = 1000;

	/** Maximum number of named holders of a key. */
	private static final int MAX_NAMED = 10;

	private final MemoryServer server;

	final Map<Resource, MemoryResource> resources = new HashMap<>();

	private int sweptAt = SWEPT_FROM;

	/**
	 * Create an instance without leases, with a hand-off timeout of 5 seconds.
	 * @param nanoTime the monotonic clock, in nanoseconds
	 */
	public MemoryLeases(LongSupplier nanoTime) {
		this(nanoTime, Duration.ofSeconds(5));
	}

	/**
	 * Create an instance without leases.
	 * @param nanoTime the monotonic clock, in nanoseconds
	 * @param handoffTimeout the initial lease of a grant to a waiter, which the waiter
	 * must claim. A waiter that has not asked again for twice this time counts as gone
	 */
	public MemoryLeases(LongSupplier nanoTime, Duration handoffTimeout) {
		this.server = new MemoryServer(nanoTime, handoffTimeout.toMillis());
	}

	/** Run a command on a lock or semaphore. */
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

	/** Return the first keys after a key, in sorted order. */
	List<String> keys(Kind kind, String behind, int most) {
		return run(() -> this.resources.keySet()
			.stream()
			.filter((resource) -> resource.kind() == kind && resource.key().compareTo(behind) > 0)
			.map(Resource::key)
			.sorted()
			.limit(most)
			.toList());
	}

	/** Run a command atomically, at one time, and then send its notifications. */
	<T extends @Nullable Object> T run(Supplier<T> command) {
		List<Runnable> notifications;
		T reply;
		synchronized (this) {
			this.server.begin();
			reply = command.get();
			if (size() > this.sweptAt) {
				// Remove resources whose leases have expired without any further command.
				long now = this.server.now();
				this.resources.values().removeIf((resource) -> resource.isDispensable(now));
				this.sweptAt = Math.max(SWEPT_FROM, 2 * size());
			}
			notifications = this.server.end();
		}
		notifications.forEach(Runnable::run);
		return reply;
	}

	/**
	 * Lock a key like a client other than Holdfast: {@code SET key owner NX PX ttl}.
	 * @param key the key
	 * @param owner the value of the key
	 * @param ttlMillis the time to live, in milliseconds; -1 without expiry
	 * @return whether the key was free
	 */
	public boolean takeIfFree(String key, String owner, long ttlMillis) {
		return run(new Resource(Kind.LOCK, key), (found) -> ((MemoryLock) found).takeIfFree(owner, ttlMillis));
	}

	/**
	 * Simulate the restart of a Redis server without persistence: forget everything.
	 */
	public synchronized void clear() {
		this.resources.clear();
		this.server.clear();
	}

	/**
	 * Return whether there are neither holders nor waiters.
	 * @return whether nothing is held or waited for
	 */
	public synchronized boolean isIdle() {
		long now = this.server.clock();
		return this.resources.values().stream().allMatch((resource) -> resource.isIdle(now));
	}

	/**
	 * Return a description of all holders and waiters.
	 * @return the keys, their holders with the time left, and the numbers of waiters
	 */
	@Override
	public synchronized String toString() {
		this.server.begin();
		this.resources.values().forEach(MemoryResource::expire);
		long now = this.server.now();
		String description = this.resources.values()
			.stream()
			.filter((resource) -> !resource.isIdle(now))
			.map((resource) -> describe(resource.inspect(MAX_NAMED, 0)))
			.sorted()
			.collect(Collectors.joining("; "));
		return description.isEmpty() ? "nothing is held or waited for" : description;
	}

	private static String describe(Standing standing) {
		String holders = standing.holders()
			.stream()
			.map((holder) -> describe(standing.resource().kind(), holder))
			.collect(Collectors.joining(", "));
		int more = standing.holderCount() - standing.holders().size();
		return standing.resource() + (holders.isEmpty() ? " is not held" : " is held by " + holders)
				+ ((more > 0) ? " and " + more + " more" : "")
				+ ((standing.waiting() > 0) ? ", waited for by " + standing.waiting() : "");
	}

	private static String describe(Kind kind, TokenState holder) {
		return ((holder.instance() != null) ? "instance " + holder.instance() : "another client") + " ("
				+ ((kind == Kind.SEMAPHORE) ? holder.permits() + " permits, "
						: (holder.permits() == 1) ? "to read, " : "")
				+ ((holder.ttlMillis() < 0) ? "without an end" : holder.ttlMillis() + " ms left") + ")";
	}

	/** Return the number of stored keys. */
	synchronized int size() {
		return this.resources.size();
	}

	MemoryServer server() {
		return this.server;
	}

}
