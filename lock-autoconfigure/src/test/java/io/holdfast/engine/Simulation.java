package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.memory.MemoryLeases;

/**
 * One history of several instances on one thread, in virtual time, made from a seed:
 * users acquire, hold and release; commands, replies and wake-ups are late, lost or
 * repeated; instances pause and crash; a foreign client takes keys. It fails on the first
 * violation.
 */
final class Simulation {

	private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

	final Random random;

	final Faults faults;

	private final PriorityQueue<Event> events = new PriorityQueue<>(
			Comparator.comparingLong(Event::at).thenComparingLong(Event::order));

	private long now = 1_000_000_000L;

	private long order;

	final MemoryLeases world = new MemoryLeases(() -> this.now);

	private final List<SimulatedInstance> instances = new ArrayList<>();

	private final List<User> users = new ArrayList<>();

	private final Map<String, List<LockLease>> leases = new HashMap<>();

	private final Map<String, Long> foreignUntil = new HashMap<>();

	private final Map<String, Long> fences = new HashMap<>();

	private final List<String> history = new ArrayList<>();

	int granted;

	int timedOut;

	int lost;

	Simulation(long seed, Faults faults) {
		this.random = new Random(seed);
		this.faults = faults;
	}

	void run(int instanceCount, int users, int keys, int steps) {
		for (int i = 0; i < instanceCount; i++) {
			this.instances.add(new SimulatedInstance(this, i));
		}
		for (int i = 0; i < users; i++) {
			User user = new User(this.instances.get(this.random.nextInt(instanceCount)), keys, steps);
			this.users.add(user);
			at(this.random.nextInt(20) * MILLI, user::next);
		}
		if (this.faults.crashes()) {
			at(this.random.nextInt(300) * MILLI, () -> {
				log("crash of 0");
				this.instances.get(0).crash();
			});
		}
		if (this.faults.foreign()) {
			for (int i = 0; i < 5; i++) {
				at(this.random.nextInt(500) * MILLI, () -> foreign("k" + this.random.nextInt(keys)));
			}
		}
		for (SimulatedInstance instance : this.instances) {
			if (this.faults.hangs()) {
				at(this.random.nextInt(1000) * MILLI, () -> instance.deaf(this.random.nextInt(1000) * MILLI));
			}
		}
		at(2000 * MILLI, this.faults::end);
		drain();
		for (User user : this.users) {
			check(user.steps < 0 || user.instance.crashed, user + " still waits");
		}
		// What dead instances left in a queue that nobody uses goes by itself.
		this.now += 2000 * MILLI;
		check(this.world.isIdle(), "something is left in the store");
		for (SimulatedInstance instance : this.instances) {
			check(instance.crashed || instance.engine.isIdle(), "something is left in instance " + instance.number);
		}
	}

	private void drain() {
		for (int count = 0; !this.events.isEmpty(); count++) {
			check(count < 200_000, "the history does not end");
			Event event = this.events.remove();
			this.now = Math.max(this.now, event.at());
			event.action().run();
		}
	}

	/** A client of the plain pattern: SET NX PX, and never a release. */
	private void foreign(String key) {
		int ttl = 20 + this.random.nextInt(200);
		if (this.world.takeIfFree(key, "somebody", ttl)) {
			log("foreign takes " + key + " for " + ttl);
			checkFree(key, "a foreign client");
			this.foreignUntil.put(key, this.now + ttl * MILLI);
		}
	}

	private void checkFree(String key, String who) {
		for (LockLease other : this.leases.getOrDefault(key, List.of())) {
			check(!other.isHeld(), who + " got " + key + " while " + other + " is held");
		}
		check(this.foreignUntil.getOrDefault(key, 0L) - this.now <= 0, who + " got " + key + " while a client has it");
	}

	private void entered(String key, LockLease lease, String who) {
		checkFree(key, who);
		Long last = this.fences.put(key, lease.fence());
		check(last == null || lease.fence() > last,
				"fence of " + key + " did not grow: " + last + ", " + lease.fence());
		this.leases.computeIfAbsent(key, (k) -> new ArrayList<>()).add(lease);
		this.granted++;
		log(who + " holds " + key + " fence " + lease.fence());
	}

	void at(long delay, Runnable action) {
		this.events.add(new Event(this.now + Math.max(0, delay), this.order++, action));
	}

	long now() {
		return this.now;
	}

	void log(String line) {
		this.history.add((this.now / MILLI) + " " + line);
	}

	void check(boolean condition, String message) {
		if (!condition) {
			throw new AssertionError(message + "\n" + String.join("\n", this.history));
		}
	}

	private record Event(long at, long order, Runnable action) {
	}

	/** Acquires, holds and releases, again and again. */
	private final class User {

		private final SimulatedInstance instance;

		private final int keys;

		private int steps;

		User(SimulatedInstance instance, int keys, int steps) {
			this.instance = instance;
			this.keys = keys;
			this.steps = steps;
		}

		void next() {
			if (this.steps-- == 0 || this.instance.crashed) {
				return;
			}
			String key = "k" + Simulation.this.random.nextInt(this.keys);
			boolean patient = Simulation.this.random.nextInt(4) == 0;
			int wait = patient ? 30_000 : Simulation.this.random.nextInt(4) * Simulation.this.random.nextInt(400);
			int lease = 100 + Simulation.this.random.nextInt(400);
			LockRequest request = LockRequest.of(key)
				.waitTime(Duration.ofMillis(wait))
				.leaseTime(Duration.ofMillis(lease))
				.renewal(Simulation.this.random.nextInt(3) > 0)
				.maxHold(Duration.ofSeconds(2));
			long startedAt = Simulation.this.now;
			log(this + " asks " + request);
			CompletableFuture<Optional<LockLease>> answer = this.instance.locks.tryAcquireAsync(request);
			if (Simulation.this.random.nextInt(10) == 0) {
				this.instance.at(Simulation.this.random.nextInt(300) * MILLI, () -> answer.cancel(false));
			}
			answer.whenComplete((acquired, error) -> this.instance.at(0, () -> {
				long late = Simulation.this.now - startedAt - Math.max(wait, 250) * MILLI - this.instance.pausedFor;
				check(!patient || acquired == null || acquired.isPresent(), this + " never got its turn");
				check(late < 250 * MILLI, this + " was answered " + late / MILLI + " ms late");
				answered(key, acquired, error);
			}));
		}

		private void answered(String key, @Nullable Optional<LockLease> acquired, @Nullable Throwable error) {
			check(!(error instanceof LockNotAcquiredException), this + " got " + error);
			LockLease lease = (acquired != null) ? acquired.orElse(null) : null;
			if (lease == null) {
				Simulation.this.timedOut++;
				log(this + " did not get " + key + ((error != null) ? ": " + error : ""));
				this.instance.at(Simulation.this.random.nextInt(50) * MILLI, this::next);
				return;
			}
			if (lease.isHeld()) {
				entered(key, lease, toString());
			}
			lease.onLost(() -> Simulation.this.lost++);
			boolean hangs = Simulation.this.faults.hangs() && Simulation.this.random.nextInt(40) == 0;
			long busy = hangs ? 100_000 : Simulation.this.random.nextInt(4) * Simulation.this.random.nextInt(100);
			this.instance.at(busy * MILLI, () -> {
				log(this + " releases " + key);
				List<LockLease> held = Simulation.this.leases.get(key);
				if (held != null) {
					held.remove(lease);
				}
				lease.releaseAsync();
				this.instance.at(Simulation.this.random.nextInt(20) * MILLI, this::next);
			});
		}

		@Override
		public String toString() {
			return "user " + Integer.toHexString(hashCode() & 0xffff) + " of " + this.instance.number;
		}

	}

}
