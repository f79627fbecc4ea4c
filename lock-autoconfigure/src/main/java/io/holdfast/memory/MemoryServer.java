package io.holdfast.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreNotifications;
import org.jspecify.annotations.Nullable;

/**
 * The server that commands run on, but for the keys: its clock, its grace, and the
 * messages to instances. One command runs at a time, which its {@link MemoryLeases} see
 * to.
 */
final class MemoryServer {

	private final LongSupplier nanoTime;

	private final long epochMicros;

	private final long handoffMillis;

	private final Map<String, ListeningInstance> listeners = new ConcurrentHashMap<>();

	private long now;

	/** The messages of the command that runs, for when it is over. */
	private List<Runnable> messages = new ArrayList<>(1);

	/** In microseconds. */
	private long serverSince;

	/** In microseconds. */
	private long graceEndsAt;

	/**
	 * Create a server.
	 * @param nanoTime its clock, in nanoseconds
	 * @param handoffMillis how long a hand-off is granted at first
	 */
	MemoryServer(LongSupplier nanoTime, long handoffMillis) {
		this.nanoTime = nanoTime;
		this.epochMicros = System.currentTimeMillis() * 1000 - nanoTime.getAsLong() / 1000;
		this.handoffMillis = handoffMillis;
	}

	// Commands

	/** Begin a command, which runs at one time. */
	void begin() {
		this.now = clock();
	}

	/**
	 * End a command.
	 * @return the messages to send
	 */
	List<Runnable> end() {
		List<Runnable> caused = this.messages;
		this.messages = new ArrayList<>(1);
		return caused;
	}

	// Time

	/** Return the time of the command that runs, in microseconds. */
	long now() {
		return this.now;
	}

	long after(long millis) {
		return this.now + millis * 1000;
	}

	long millisUntil(long micros) {
		return Math.max(0, (micros - this.now) / 1000);
	}

	/** Return the time of the clock, in milliseconds since 1970. */
	long nowMillis() {
		return clock() / 1000;
	}

	/** Return the time of the clock, in microseconds. */
	long clock() {
		return this.epochMicros + this.nanoTime.getAsLong() / 1000;
	}

	long handoffMillis() {
		return this.handoffMillis;
	}

	// Grace

	/** Grant nothing new for a while, as after a fail-over. */
	void beginGrace(Duration longestLease) {
		this.serverSince = clock();
		this.graceEndsAt = this.serverSince + longestLease.toNanos() / 1000;
	}

	/** Return for how long nothing new is granted, in milliseconds. */
	long grace() {
		return Math.max(0, (this.graceEndsAt - this.now + 999) / 1000);
	}

	/**
	 * Return when the grace began, in microseconds; fences of grants before it are lower.
	 */
	long serverSince() {
		return this.serverSince;
	}

	// Messages

	void listen(String instanceId, StoreNotifications notifications, BooleanSupplier reachable,
			BooleanSupplier counted) {
		this.listeners.put(instanceId, new ListeningInstance(notifications, reachable, counted));
	}

	void unlisten(String instanceId) {
		this.listeners.remove(instanceId);
	}

	/**
	 * Tell an instance of a grant to its token, after this command.
	 * @return {@code false}, and nothing is told, if the instance does not count among
	 * the listeners
	 */
	boolean tell(Resource resource, String token, long fence, long ttlMillis) {
		ListeningInstance listener = listener(token);
		if (listener == null || !listener.isCounted()) {
			return false;
		}
		this.messages.add(() -> listener.notifications().granted(resource, token, fence, ttlMillis));
		return true;
	}

	/** Return whether the instance of a token certainly does not hear messages. */
	boolean isAbsent(String token) {
		ListeningInstance listener = listener(token);
		return listener == null || !listener.isCounted();
	}

	/**
	 * Tell the instance of a token that its lease was released by force, after this
	 * command.
	 */
	void tellEnded(String token, long nextFence) {
		ListeningInstance listener = listener(token);
		if (listener != null && listener.reachable().getAsBoolean()) {
			this.messages.add(() -> listener.notifications().ended(token, nextFence));
		}
	}

	private @Nullable ListeningInstance listener(String token) {
		return this.listeners.get(token.substring(0, Math.max(0, token.indexOf(':'))));
	}

	/**
	 * Ask an instance for a report, at once.
	 * @return {@code false} if it does not count among the listeners
	 */
	boolean tellOfReport(String instanceId, String report) {
		ListeningInstance listener = this.listeners.get(instanceId);
		if (listener == null || !listener.reachable().getAsBoolean()) {
			return false;
		}
		listener.notifications().reportWanted(report);
		return listener.isCounted();
	}

	/**
	 * A listening instance.
	 *
	 * @param notifications the messages
	 * @param reachable whether it hears that
	 * @param counted whether it counts, if it is reachable
	 */
	private record ListeningInstance(StoreNotifications notifications, BooleanSupplier reachable,
			BooleanSupplier counted) {

		boolean isCounted() {
			return this.reachable.getAsBoolean() && this.counted.getAsBoolean();
		}

	}

}
