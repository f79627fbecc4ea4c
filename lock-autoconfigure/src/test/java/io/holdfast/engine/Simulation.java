package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.Step.Clock;
import io.holdfast.engine.Step.Confirm;
import io.holdfast.engine.Step.Copy;
import io.holdfast.engine.Step.Crash;
import io.holdfast.engine.Step.DataLoss;
import io.holdfast.engine.Step.Deaf;
import io.holdfast.engine.Step.FailOver;
import io.holdfast.engine.Step.Force;
import io.holdfast.engine.Step.ForceBy;
import io.holdfast.engine.Step.Foreign;
import io.holdfast.engine.Step.Full;
import io.holdfast.engine.Step.GracefulShutdown;
import io.holdfast.engine.Step.Inquire;
import io.holdfast.engine.Step.Limit;
import io.holdfast.engine.Step.Missing;
import io.holdfast.engine.Step.Outage;
import io.holdfast.engine.Step.Pause;
import io.holdfast.engine.Step.Restart;
import io.holdfast.engine.Step.Uncounted;
import io.holdfast.engine.Step.Use;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.history.Checker;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.memory.MemoryReplica;
import org.jspecify.annotations.Nullable;

/**
 * History of several instances by a plan, on a single thread and in virtual time.
 */
final class Simulation {

	static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

	/** Error of a cancelled request. */
	static final NotAcquiredException INTERRUPTED = new LockNotAcquiredException("", Reason.INTERRUPTED, Duration.ZERO,
			new CancellationException());

	/** Maximum delay of the end of a wait: 250 ms, by a clock that may be slow by 1 %. */
	static final long SLACK = 260 * MILLI;

	/** Time for the claim of a dead waiter and the next question. */
	private static final long POLL = SimulatedInstance.HANDOFF.toNanos() + 100 * MILLI;

	final Timeline time = new Timeline();

	final Plan plan;

	final Mutant mutant;

	final MemoryLeases world;

	final MemoryLeaseStore operator;

	/** Current or last instances by number, followed by copies. */
	private final List<SimulatedInstance> instances = new ArrayList<>();

	private final List<SimulatedUser> users = new ArrayList<>();

	private final List<SimulatedThread> threads = new ArrayList<>();

	private final List<Event> history = new ArrayList<>();

	private final boolean tracing;

	private final List<String> trace = new ArrayList<>();

	final SimulatedFleet fleet = new SimulatedFleet(this);

	/** Replicas that confirm grants, if planned. */
	@Nullable SimulatedReplicas replicas;

	/** Recorded grants of the store. */
	private final Set<String> grants = new HashSet<>();

	private boolean faultsOver;

	/** End of the full memory of the store. */
	private long fullUntil;

	private int foreignOwners;

	/** Number of forced releases. */
	int forced;

	int granted;

	int refused;

	int lost;

	/** Number of hand-overs within an instance, by kind of resource. */
	final Map<Kind, Integer> handOvers = new EnumMap<>(Kind.class);

	private Simulation(Plan plan, Mutant mutant, boolean tracing, Duration handoffTimeout) {
		this.plan = plan;
		this.mutant = mutant;
		this.tracing = tracing;
		this.world = new MemoryLeases(this.time::now, handoffTimeout);
		this.operator = new MemoryLeaseStore(this.world);
	}

	/** Create a simulation without a plan. */
	static Simulation idle(Duration handoffTimeout) {
		return new Simulation(new Plan(new Step.Setup(0, 0, 0, false, 0), List.of()), Mutant.NONE, false,
				handoffTimeout);
	}

	/** Run a plan, and check its history. */
	static Outcome run(Plan plan, Mutant mutant, boolean tracing) {
		Simulation simulation = new Simulation(plan, mutant, tracing, SimulatedInstance.HANDOFF);
		List<String> violations;
		try {
			simulation.run();
			violations = Checker.check(simulation.history, SLACK, POLL + plan.longestMargin() * MILLI);
		}
		catch (RuntimeException | Error ex) {
			simulation.trace(() -> Stream.of(ex.getStackTrace()).limit(30).toList().toString());
			violations = List.of("failed: " + ex);
		}
		finally {
			simulation.threads.forEach(SimulatedThread::recycle);
		}
		return new Outcome(violations, simulation.trace, simulation.granted, simulation.refused, simulation.lost,
				simulation.handOvers);
	}

	private void run() {
		Map<Integer, List<Use>> uses = new LinkedHashMap<>();
		Map<Integer, Clock> clocks = new LinkedHashMap<>();
		for (Step step : this.plan.steps()) {
			if (step instanceof Use use) {
				uses.computeIfAbsent(use.user(), (k) -> new ArrayList<>()).add(use);
			}
			else if (step instanceof Clock clock) {
				clocks.put(clock.instance(), clock);
			}
			else if (step instanceof Confirm confirm) {
				this.replicas = new SimulatedReplicas(this, confirm.timeout());
			}
		}
		for (int i = 0; i < this.plan.setup().instances(); i++) {
			this.instances.add(new SimulatedInstance(this, i, clocks.get(i)));
		}
		this.instances.forEach(this.fleet::register);
		setOperatorLimits((this.plan.limit() == 0) ? Plan.LIMIT : -1);
		this.plan.steps().forEach(this::expect);
		Map<Hold, String> holds = new IdentityHashMap<>();
		uses.values()
			.forEach((all) -> this.users
				.add(new SimulatedUser(this, this.instances.get(all.get(0).instance()), all, holds)));
		this.users.forEach(SimulatedUser::next);
		this.time.at(Plan.FAULTS_MILLIS * MILLI, () -> {
			this.faultsOver = true;
			this.plan.steps()
				.stream()
				.filter(Limit.class::isInstance)
				.forEach((step) -> limit("k" + ((Limit) step).key(), (this.plan.limit() == 0) ? Plan.LIMIT : -1));
			record(Event.of(now(), Type.FAULTS_OVER, ""));
		});
		this.time.drain();
		setOperatorLimits(-1);
		record(Event.of(now(), Type.QUIET, ""));
		this.fleet.checkMembers();
		// The state of dead instances expires.
		this.time.elapse(2000 * MILLI);
		recordRemains();
	}

	private void expect(Step step) {
		if (step instanceof Step.Command command) {
			this.instances.get(command.instance()).store.connection.expect(command);
		}
		else if (step instanceof Step.WakeUp wakeUp) {
			this.instances.get(wakeUp.instance()).store.connection.expect(wakeUp);
		}
		else if (step instanceof Pause pause) {
			this.time.at(pause.at() * MILLI, () -> this.instances.get(pause.instance()).pause(pause.millis() * MILLI));
		}
		else if (step instanceof Crash crash) {
			this.time.at(crash.at() * MILLI, () -> this.instances.get(crash.instance()).crash());
		}
		else if (step instanceof Restart restart) {
			this.time.at(restart.at() * MILLI, () -> restart(restart.instance()));
		}
		else if (step instanceof Deaf deaf) {
			this.time.at(deaf.at() * MILLI,
					() -> this.instances.get(deaf.instance()).store.deaf(deaf.millis() * MILLI));
		}
		else if (step instanceof Uncounted uncounted) {
			this.time.at(uncounted.at() * MILLI,
					() -> this.instances.get(uncounted.instance()).store.uncounted(uncounted.millis() * MILLI));
		}
		else if (step instanceof Outage outage) {
			this.time.at(outage.at() * MILLI,
					() -> this.instances.get(outage.instance()).store.connection.outage(outage));
		}
		else if (step instanceof Foreign foreign) {
			this.time.at(foreign.at() * MILLI, () -> foreign("k" + foreign.key(), foreign.millis()));
		}
		else if (step instanceof Inquire inquire) {
			this.time.at(inquire.at() * MILLI, () -> this.fleet.inquire(this.instances.get(inquire.instance())));
		}
		else if (step instanceof ForceBy force) {
			this.time.at(force.at() * MILLI, () -> this.fleet.force(this.instances.get(force.instance()), force));
		}
		else if (step instanceof Limit limit) {
			this.time.at(limit.at() * MILLI, () -> limit("k" + limit.key(), limit.limit()));
		}
		else if (step instanceof Force force) {
			this.time.at(force.at() * MILLI, () -> force("k" + force.key()));
		}
		else if (step instanceof DataLoss loss) {
			this.time.at(loss.at() * MILLI, () -> {
				record(Event.of(now(), Type.DATA_LOST, ""));
				this.world.clear();
			});
		}
		else if (step instanceof Full full) {
			this.time.at(full.at() * MILLI,
					() -> this.fullUntil = Math.max(this.fullUntil, now() + full.millis() * MILLI));
		}
		else if (step instanceof Missing missing) {
			SimulatedReplicas all = this.replicas;
			if (all != null) {
				this.time.at(missing.at() * MILLI, () -> all.miss(missing.millis() * MILLI));
			}
		}
		else if (step instanceof FailOver over) {
			SimulatedReplicas all = this.replicas;
			this.time.at((over.at() - over.lag()) * MILLI, () -> {
				MemoryReplica replica = new MemoryReplica(this.world);
				if (all != null) {
					all.miss(over.lag() * MILLI);
				}
				this.time.at(over.lag() * MILLI, () -> {
					if (all != null) {
						all.failedOver();
					}
					record(Event.of(now(), Type.FAILED_OVER, "").until(now() + over.grace() * MILLI));
					replica.takeOver(this.world, Duration.ofMillis(over.grace()));
				});
			});
		}
		else if (step instanceof GracefulShutdown down) {
			this.time.at(down.at() * MILLI, () -> this.instances.get(down.instance())
				.shutDown(down.patience() * MILLI, (down.resume() >= 0) ? down.resume() * MILLI : -1));
		}
		else if (step instanceof Copy copy) {
			this.time.at(copy.at() * MILLI, () -> {
				SimulatedInstance instance = this.instances.get(copy.instance());
				instance.shutDown(copy.patience() * MILLI, copy.resume() * MILLI, () -> copy(instance));
			});
		}
	}

	/** Record the remaining state at the end. */
	private void recordRemains() {
		if (!this.world.isIdle()) {
			for (int key = 0; key < this.plan.setup().keys(); key++) {
				recordRemains("k" + key);
			}
		}
		for (SimulatedInstance instance : this.instances) {
			if (!instance.crashed) {
				instance.left("of the engine", instance.engine.isIdle() ? 0 : 1);
				instance.observer.problems().forEach((problem) -> instance.left("with the observer: " + problem, 1));
			}
		}
	}

	private void recordRemains(String key) {
		Standing lock = this.operator.inspect(new Resource(Kind.LOCK, key), 0, 0).join();
		stored(Mode.EXCLUSIVE, key, "HELD", (lock.owner() != null) ? 1 : 0);
		stored(Mode.READ, key, "HELD", lock.readerCount());
		stored(Mode.EXCLUSIVE, key, "WAITING", lock.waiting());
		Standing permits = this.operator.inspect(new Resource(Kind.SEMAPHORE, key), 0, 0).join();
		stored(Mode.PERMITS, key, "HELD", permits.used());
		stored(Mode.PERMITS, key, "WAITING", permits.waiting());
	}

	private void stored(Mode mode, String key, String state, int count) {
		if (count > 0) {
			record(Event.of(now(), Type.STORED, "").of(mode, key).why(state).permits(count, 0));
		}
	}

	private void restart(int number) {
		SimulatedInstance dead = this.instances.get(number);
		if (dead.crashed) {
			SimulatedInstance started = new SimulatedInstance(dead);
			this.instances.set(number, started);
			this.fleet.register(started);
			this.users.stream().filter((user) -> user.isAt(dead)).toList().forEach((user) -> user.continueAt(started));
		}
	}

	/** Copy a stopped instance. Its users continue at both instances. */
	private void copy(SimulatedInstance stopped) {
		SimulatedInstance copy = stopped.copy(this.instances.size());
		this.instances.add(copy);
		this.fleet.register(copy);
		this.users.stream().filter((user) -> user.isAt(stopped)).toList().forEach((user) -> {
			SimulatedUser other = user.copy(copy);
			this.users.add(other);
			other.next();
		});
	}

	private void foreign(String key, int millis) {
		if (this.world.takeIfFree(key, "stranger", millis)) {
			String id = "f" + this.foreignOwners++;
			long until = now() + millis * MILLI;
			record(Event.of(now(), Type.ASKED, "stranger").id(id).of(Mode.EXCLUSIVE, key).lease(until - now()));
			record(Event.of(now(), Type.GRANTED, "stranger").id(id).until(until));
			record(Event.of(now(), Type.STORE_GRANTED, "stranger").of(Mode.EXCLUSIVE, key));
		}
	}

	/** Set the limits of the operator, if requests have no limit. */
	private void setOperatorLimits(int limit) {
		for (int i = 0; i < this.plan.setup().keys() && this.plan.limit() == 0; i++) {
			limit("k" + i, limit);
		}
	}

	private void limit(String key, int limit) {
		this.operator.limit(new Resource(Kind.SEMAPHORE, key), (limit >= 0) ? limit : null);
		record(Event.of(now(), Type.LIMIT, "").of(Mode.PERMITS, key).permits(0, limit).until(now()));
	}

	private void force(String key) {
		for (Kind kind : Kind.values()) {
			Resource resource = new Resource(kind, key);
			List<String> holders = SimulatedStore.holders(this.operator, resource);
			this.operator.force(resource, holders);
			if (!holders.isEmpty()) {
				forced(resource, "");
			}
		}
	}

	/**
	 * Record a forced release: of a single lease, or without an id of all leases.
	 */
	void forced(Resource resource, String id) {
		this.forced++;
		record(Event.of(now(), Type.FORCED, "").of(SimulatedStore.mode(resource, 1), resource.key()).id(id));
	}

	/**
	 * Return the id of a token's lease, or {@code unknown} if its user has not received
	 * the lease.
	 */
	String leaseOf(String token) {
		return this.instances.stream()
			.map((instance) -> instance.store.lease(token))
			.filter(Objects::nonNull)
			.findFirst()
			.orElse("unknown");
	}

	/** Return whether a grant of the store is new. */
	boolean isNewGrant(String token, long fence) {
		return this.grants.add(token + "/" + fence);
	}

	// For the participants

	long now() {
		return this.time.now();
	}

	SimulatedThread newThread() {
		SimulatedThread thread = SimulatedThread.take();
		this.threads.add(thread);
		return thread;
	}

	boolean isFull() {
		return now() < this.fullUntil;
	}

	boolean areFaultsOver() {
		return this.faultsOver;
	}

	/**
	 * Return a random number that depends only on the seed and the arguments, and not on
	 * other events.
	 */
	long dice(int instance, long number) {
		long z = this.plan.setup().seed() * 0x9E3779B97F4A7C15L + instance * 0xD1B54A32D192ED03L
				+ number * 0x8CB92BA72F3D8DD7L;
		z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
		z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
		return (z ^ (z >>> 31)) >>> 1;
	}

	void record(Event event) {
		this.history.add(event);
		trace(event::toString);
	}

	void trace(Supplier<String> line) {
		if (this.tracing) {
			this.trace.add(now() / MILLI + " ms: " + line.get());
		}
	}

	/**
	 * Outcome of a run.
	 *
	 * @param violations the violated properties
	 * @param trace the trace, if requested
	 * @param granted the number of granted requests
	 * @param refused the number of refused requests
	 * @param lost the number of lost leases
	 * @param handOvers the number of hand-overs within an instance, by kind of resource
	 */
	record Outcome(List<String> violations, List<String> trace, int granted, int refused, int lost,
			Map<Kind, Integer> handOvers) {
	}

}
