package io.holdfast.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreNotifications;

/**
 * State of the simulated server apart from keys: clock, grace time, registered instances,
 * and messages to them. {@link MemoryLeases} runs one command at a time.
 */
final class MemoryServer {

	/** Maximum number of reports whose answers are kept until they are collected. */
	private static final int REPORTS = 100;

	private final LongSupplier nanoTime;

	private final long epochMicros;

	private final long handoffMillis;

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

	private final Map<String, MemoryLeaseStore> listeners = new ConcurrentHashMap<>();

	private long now;

	/** Messages of the current command, sent after its end. */
	private List<Runnable> messages = new ArrayList<>(1);

	/** Begin of the grace time, in microseconds. */
	private long serverSince;

	/** End of the grace time, in microseconds. */
	private long graceEndsAt;

	/**
	 * Create a server.
	 * @param nanoTime the monotonic clock, in nanoseconds
	 * @param handoffMillis the initial lease of a grant to a waiter, in milliseconds
	 */
	MemoryServer(LongSupplier nanoTime, long handoffMillis) {
		this.nanoTime = nanoTime;
		this.epochMicros = System.currentTimeMillis() * 1000 - nanoTime.getAsLong() / 1000;
		this.handoffMillis = handoffMillis;
	}

	// Commands

	/** Begin a command, whose time does not change. */
	void begin() {
		this.now = clock();
	}

	/**
	 * End a command.
	 * @return the messages to send
	 */
	List<Runnable> end() {
		List<Runnable> sent = this.messages;
		this.messages = new ArrayList<>(1);
		return sent;
	}

	/** Forget the instances. */
	void clear() {
		this.members.clear();
		this.reports.clear();
	}

	// Time

	/** Return the time of the current command, in microseconds. */
	long now() {
		return this.now;
	}

	long after(long millis) {
		return this.now + millis * 1000;
	}

	long millisUntil(long micros) {
		return Math.max(0, (micros - this.now) / 1000);
	}

	/** Return the time of the clock, in microseconds. */
	long clock() {
		return this.epochMicros + this.nanoTime.getAsLong() / 1000;
	}

	long handoffMillis() {
		return this.handoffMillis;
	}

	// Grace

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

	// Messages

	void listen(String instanceId, MemoryLeaseStore listener) {
		this.listeners.put(instanceId, listener);
	}

	void unlisten(String instanceId) {
		this.listeners.remove(instanceId);
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
