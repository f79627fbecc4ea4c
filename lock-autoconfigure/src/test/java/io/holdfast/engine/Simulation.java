package io.holdfast.engine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.holdfast.engine.Resource.Kind;
import io.holdfast.engine.SimulatedUser.Workload;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;

/**
 * One history of several instances on one thread, in virtual time, made from a seed:
 * users acquire, hold and release; commands, replies and wake-ups are late, lost or
 * repeated; instances pause and crash; a foreign client takes keys. It fails on the first
 * violation.
 */
final class Simulation {

	/** The limit of every semaphore, unless an operator sets another one. */
	static final int LIMIT = 3;

	private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

	final Random random;

	final Faults faults;

	final Workload workload;

	final int keys;

	private final PriorityQueue<Event> events = new PriorityQueue<>(
			Comparator.comparingLong(Event::at).thenComparingLong(Event::order));

	private long now = 1_000_000_000L;

	private long order;

	final MemoryLeases world = new MemoryLeases(() -> this.now, SimulatedInstance.HANDOFF);

	private final List<SimulatedInstance> instances = new ArrayList<>();

	private final List<SimulatedUser> users = new ArrayList<>();

	private final Map<String, List<Entry>> leases = new HashMap<>();

	private final Map<String, Long> foreignUntil = new HashMap<>();

	/** Of released locks, until the end of their least hold. */
	private final Map<String, Long> keptUntil = new HashMap<>();

	private final Map<String, Long> fences = new HashMap<>();

	/** All that were ever told of. */
	private final Set<Hold> holds = new HashSet<>();

	private final List<String> history = new ArrayList<>();

	private final MemoryLeaseStore operator = new MemoryLeaseStore(this.world);

	private final int highestLimit;

	int granted;

	int timedOut;

	int lost;

	Simulation(long seed, Faults faults, Workload workload, int keys) {
		this.random = new Random(seed);
		this.faults = faults;
		this.workload = workload;
		this.keys = keys;
		this.highestLimit = faults.operator() ? 2 * LIMIT : LIMIT;
	}

	void run(int instanceCount, int users, int steps) {
		for (int i = 0; i < instanceCount; i++) {
			this.instances.add(new SimulatedInstance(this, i));
		}
		for (int i = 0; i < users; i++) {
			SimulatedUser user = new SimulatedUser(this, this.instances.get(this.random.nextInt(instanceCount)), steps);
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
				at(this.random.nextInt(500) * MILLI, () -> foreign("k" + this.random.nextInt(this.keys)));
			}
		}
		if (this.faults.operator()) {
			at(0, this::operate);
		}
		for (SimulatedInstance instance : this.instances) {
			if (this.faults.hangs()) {
				at(this.random.nextInt(1000) * MILLI, () -> instance.deaf(this.random.nextInt(1000) * MILLI));
			}
		}
		at(2000 * MILLI, this.faults::end);
		drain();
		for (SimulatedUser user : this.users) {
			check(user.isDone(), user + " still waits");
		}
		// What dead instances left in a queue that nobody uses goes by itself.
		this.now += 2000 * MILLI;
		check(this.world.isIdle(), "something is left in the store");
		for (SimulatedInstance instance : this.instances) {
			check(instance.crashed || instance.engine.isIdle(), "something is left in instance " + instance.number);
			check(instance.crashed || instance.observer.problems().isEmpty(),
					"the observer of instance " + instance.number + " saw: " + instance.observer.problems());
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
			for (Entry other : this.leases.getOrDefault(key, List.of())) {
				check(!other.lease.isHeld() || other.demand.resource().kind() == Kind.SEMAPHORE,
						"a foreign client got " + key + " while " + other + " is held");
			}
			checkForeign(key, "a foreign client");
			this.foreignUntil.put(key, this.now + ttl * MILLI);
		}
	}

	private void checkForeign(String key, String who) {
		check(this.foreignUntil.getOrDefault(key, 0L) - this.now <= 0, who + " got " + key + " while a client has it");
	}

	/**
	 * A user was told that it holds.
	 * @param first whether it has no other lease of that
	 */
	void entered(SimulatedUser user, Demand demand, HeldLease lease, boolean first) {
		Resource resource = demand.resource();
		String who = user.toString();
		List<Entry> others = this.leases.getOrDefault(resource.key(), List.of());
		long permits = lease.hold.permits;
		for (Entry other : others) {
			if (other.lease.isHeld() && other.lease.hold != lease.hold && !(other.user == user
					&& other.demand.resource().equals(resource) && resource.kind() == Kind.READ_WRITE)) {
				check(other.demand.resource().equals(resource), who + " got " + resource + " while another has it");
				permits += other.lease.hold.permits;
			}
		}
		int limit = (resource.kind() == Kind.SEMAPHORE) ? this.highestLimit : demand.limit();
		check(permits <= limit, who + " got " + demand + ": " + permits + " permits are held");
		boolean nested = !this.holds.add(lease.hold);
		// What a writer reads its thread may read again.
		check(!nested || !first || resource.kind() == Kind.READ_WRITE, who + " entered by what it had left to others");
		if (resource.kind() != Kind.SEMAPHORE && !nested) {
			check(this.keptUntil.getOrDefault(resource.key(), 0L) - this.now <= 0, who + " got a lock that is kept");
			checkForeign(resource.key(), who);
			checkFence(demand, lease, who);
		}
		this.leases.computeIfAbsent(resource.key(), (k) -> new ArrayList<>()).add(new Entry(user, demand, lease));
		this.granted++;
		log(who + " holds " + resource + " fence " + lease.hold.fence);
	}

	/** Whoever writes has the highest fence; readers are told of theirs in any order. */
	private void checkFence(Demand demand, HeldLease lease, String who) {
		if (demand.permits() == demand.limit()) {
			Long last = this.fences.put(demand.resource().key(), lease.hold.fence);
			check(last == null || lease.hold.fence > last,
					who + ": fence did not grow: " + last + ", " + lease.hold.fence);
		}
	}

	/** A lease was released at a time, and kept for what was left of its least hold. */
	void retained(HeldLease lease, long releasedAt) {
		long until = lease.hold.grantedAt + lease.hold.demand.minHoldNanos();
		if (lease.hold.gate.resource.kind() == Kind.LOCK && until - releasedAt > 0) {
			log(lease + " is kept until " + until / MILLI);
			this.keptUntil.merge(lease.key(), until, Math::max);
		}
	}

	List<String> allKeys() {
		return IntStream.range(0, this.keys).mapToObj((i) -> "k" + i).toList();
	}

	void left(HeldLease lease) {
		List<Entry> held = this.leases.get(lease.key());
		if (held != null) {
			held.removeIf((entry) -> entry.lease == lease);
		}
	}

	/** Somebody changes limits while permits are held and waited for. */
	private void operate() {
		if (this.now > 2_500 * MILLI) {
			this.operator.limit(new Resource(Kind.SEMAPHORE, "k" + this.random.nextInt(this.keys)), null);
			for (int key = 0; key < this.keys; key++) {
				this.operator.limit(new Resource(Kind.SEMAPHORE, "k" + key), null);
			}
			return;
		}
		Integer limit = (this.random.nextInt(4) == 0) ? null : this.random.nextInt(this.highestLimit + 1);
		log("the limit is " + limit);
		this.operator.limit(new Resource(Kind.SEMAPHORE, "k" + this.random.nextInt(this.keys)), limit);
		at(this.random.nextInt(150) * MILLI, this::operate);
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

	private record Entry(SimulatedUser user, Demand demand, HeldLease lease) {
	}

	private record Event(long at, long order, Runnable action) {
	}

}
