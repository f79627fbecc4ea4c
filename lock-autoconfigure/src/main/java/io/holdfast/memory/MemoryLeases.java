package io.holdfast.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import org.jspecify.annotations.Nullable;

/**
 * Leases that the {@link MemoryLeaseStore}s of a JVM share: a simulated Redis server with
 * its clock, its grace time, and messages to instances. Implements the behaviour of the
 * Redis scripts in Java. Thread-safe.
 *
 * @since 0.1.0
 */
public final class MemoryLeases {

	/** End of a lease without expiry. */
	static final long NEVER = Long.MAX_VALUE;

	private static final int SWEPT_FROM = 1000;

	/** Maximum number of named holders of a key. */
	private static final int MAX_NAMED = 10;

	/** Maximum number of reports whose answers are kept until they are collected. */
	private static final int REPORTS = 100;

	private final LongSupplier nanoTime;

	private final long epochMicros;

	private final long handoffMillis;

	final Map<Resource, MemoryResource> resources = new HashMap<>();

	/** Registered instances by id. */
	final Map<String, Member> members = new HashMap<>();

	/** Answers by name of the report, until they are collected. */
	final Map<String, List<String>> reports = new LinkedHashMap<>() {

		private static final long serialVersionUID = 1L;

		@Override
		protected boolean removeEldestEntry(Map.Entry<String, List<String>> eldest) {
			return size() > REPORTS;
		}

	};

	final Map<String, MemoryLeaseStore> listeners = new ConcurrentHashMap<>();

	/** Time of the current command, in microseconds. */
	private long now;

	/** Messages of the current command, sent after its end. */
	private List<Runnable> messages = new ArrayList<>(1);

	/** Begin of the grace time, in microseconds. */
	private long serverSince;

	/** End of the grace time, in microseconds. */
	private long graceEndsAt;

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
		this.nanoTime = nanoTime;
		this.epochMicros = System.currentTimeMillis() * 1000 - nanoTime.getAsLong() / 1000;
		this.handoffMillis = handoffTimeout.toMillis();
	}

	/** Run a command on a lock or semaphore. */
	<T> T run(Resource resource, Function<MemoryResource, T> command) {
		return run(() -> {
			MemoryResource found = this.resources.computeIfAbsent(resource, (absent) -> (absent.kind() == Kind.LOCK)
					? new MemoryLock(this, absent) : new MemoryPermits(this, absent));
			found.expire();
			T reply = command.apply(found);
			if (found.isDispensable(this.now)) {
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
			this.now = clock();
			reply = command.get();
			if (size() > this.sweptAt) {
				// Remove resources whose leases have expired without any further command.
				this.resources.values().removeIf((resource) -> resource.isDispensable(this.now));
				this.sweptAt = Math.max(SWEPT_FROM, 2 * size());
			}
			notifications = this.messages;
			this.messages = new ArrayList<>(1);
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
		this.members.clear();
		this.reports.clear();
	}

	/**
	 * Return whether there are neither holders nor waiters.
	 * @return whether nothing is held or waited for
	 */
	public synchronized boolean isIdle() {
		long clock = clock();
		return this.resources.values().stream().allMatch((resource) -> resource.isIdle(clock));
	}

	/**
	 * Return a description of all holders and waiters.
	 * @return the keys, their holders with the time left, and the numbers of waiters
	 */
	@Override
	public synchronized String toString() {
		this.now = clock();
		this.resources.values().forEach(MemoryResource::expire);
		String description = this.resources.values()
			.stream()
			.filter((resource) -> !resource.isIdle(this.now))
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

	/** Return the time of the current command, in microseconds. */
	long now() {
		return this.now;
	}

	long after(long millis) {
		return this.now + millis * 1000;
	}

	/** Return the time until an end, in milliseconds; -1 for {@link #NEVER}. */
	long millisUntil(long micros) {
		return (micros == NEVER) ? -1 : Math.max(0, (micros - this.now) / 1000);
	}

	/** Return the time of the clock, in microseconds. */
	long clock() {
		return this.epochMicros + this.nanoTime.getAsLong() / 1000;
	}

	/** Return the initial lease of a grant to a waiter, in milliseconds. */
	long handoffMillis() {
		return this.handoffMillis;
	}

	/** Begin a grace time without new grants, as after a fail-over. */
	void beginGrace(Duration longestLease) {
		this.serverSince = clock();
		this.graceEndsAt = this.serverSince + longestLease.toNanos() / 1000;
	}

	/** Return the rest of the grace time, in milliseconds. */
	long grace() {
		return Math.max(0, (this.graceEndsAt - this.now + 999) / 1000);
	}

	/**
	 * Return the begin of the grace time, in microseconds. Fences of earlier grants are
	 * lower.
	 */
	long serverSince() {
		return this.serverSince;
	}

	/**
	 * Notify an instance of a grant to its token, after the current command.
	 * @return {@code false} if the instance is not counted as a subscriber; it is then
	 * not notified
	 */
	boolean tell(Resource resource, String token, long fence, long ttlMillis) {
		return !isAbsent(token)
				&& send(instance(token), (listener) -> listener.granted(resource, token, fence, ttlMillis));
	}

	/** Return whether the instance of a token certainly receives no messages. */
	boolean isAbsent(String token) {
		return !isCounted(instance(token));
	}

	/**
	 * Notify the instance of a token of the forced release, after the current command.
	 */
	void tellEnded(String token, long nextFence) {
		send(instance(token), (listener) -> listener.ended(token, nextFence));
	}

	/**
	 * Request a report from an instance, after the current command.
	 * @return {@code false} if the instance is not counted as a subscriber
	 */
	boolean tellOfReport(String instanceId, String report) {
		return send(instanceId, (listener) -> listener.reportWanted(report)) && isCounted(instanceId);
	}

	private boolean isCounted(String instanceId) {
		MemoryLeaseStore listener = this.listeners.get(instanceId);
		return listener != null && listener.isCounted();
	}

	private boolean send(String instanceId, Consumer<StoreNotifications> message) {
		MemoryLeaseStore listener = this.listeners.get(instanceId);
		StoreNotifications reached = (listener != null) ? listener.notifications() : null;
		return reached != null && this.messages.add(() -> message.accept(reached));
	}

	private static String instance(String token) {
		return token.substring(0, Math.max(0, token.indexOf(':')));
	}

}
