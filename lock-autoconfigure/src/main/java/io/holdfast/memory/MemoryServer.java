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
 * The server that commands run on, but for the keys: its clock, its grace, the instances
 * and the messages to them. One command runs at a time, which its {@link MemoryLeases}
 * see to.
 */
final class MemoryServer {

	/** Answers to so many questions are kept, in case that they are not taken. */
	private static final int REPORTS = 100;

	private final LongSupplier nanoTime;

	private final long epochMicros;

	private final long handoffMillis;

	/** The registered instances, by id. */
	final Map<String, Member> members = new HashMap<>();

	/** The reports that were asked for and not taken yet, by name. */
	final Map<String, List<String>> reports = new LinkedHashMap<>() {

		private static final long serialVersionUID = 1L;

		@Override
		protected boolean removeEldestEntry(Map.Entry<String, List<String>> eldest) {
			return size() > REPORTS;
		}

	};

	private final Map<String, MemoryLeaseStore> listeners = new ConcurrentHashMap<>();

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

	/** Forget the instances. */
	void clear() {
		this.members.clear();
		this.reports.clear();
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

	void listen(String instanceId, MemoryLeaseStore listener) {
		this.listeners.put(instanceId, listener);
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
		return !isAbsent(token)
				&& send(instance(token), (listener) -> listener.granted(resource, token, fence, ttlMillis));
	}

	/** Return whether the instance of a token certainly does not hear messages. */
	boolean isAbsent(String token) {
		return !isCounted(instance(token));
	}

	/**
	 * Tell the instance of a token that its lease was released by force, after this
	 * command.
	 */
	void tellEnded(String token, long nextFence) {
		send(instance(token), (listener) -> listener.ended(token, nextFence));
	}

	/**
	 * Ask an instance for a report, after this command.
	 * @return {@code false} if it does not count among the listeners
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
