package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.KeyState;
import io.holdfast.engine.LeaseStore.PermitState;
import io.holdfast.engine.Resource.Kind;
import io.holdfast.engine.Scheduler.Timer;
import io.holdfast.engine.Step.Clock;
import io.holdfast.engine.Step.Confirm;
import io.holdfast.engine.Step.Crash;
import io.holdfast.engine.Step.DataLoss;
import io.holdfast.engine.Step.Deaf;
import io.holdfast.engine.Step.FailOver;
import io.holdfast.engine.Step.Force;
import io.holdfast.engine.Step.ForceBy;
import io.holdfast.engine.Step.Foreign;
import io.holdfast.engine.Step.Inquire;
import io.holdfast.engine.Step.Limit;
import io.holdfast.engine.Step.Missing;
import io.holdfast.engine.Step.Outage;
import io.holdfast.engine.Step.Pause;
import io.holdfast.engine.Step.Restart;
import io.holdfast.engine.Step.ShutDown;
import io.holdfast.engine.Step.Use;
import io.holdfast.history.Checker;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.jspecify.annotations.Nullable;

/**
 * One history of several instances, as it is planned, on one thread and in virtual time.
 */
final class Simulation {

	static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

	/** What who cancels is told, by itself. */
	static final NotAcquiredException INTERRUPTED = new LockNotAcquiredException("", Reason.INTERRUPTED, Duration.ZERO,
			new CancellationException());

	/** How late a wait may end: 250 ms, by a clock that may be slow by 1 %. */
	private static final long SLACK = 260 * MILLI;

	/** How long a claim of a dead waiter and the next question take. */
	private static final long POLL = SimulatedInstance.HANDOFF.toNanos() + 100 * MILLI;

	private static final int MOST_EVENTS = 30_000;

	final Plan plan;

	final Mutant mutant;

	private final PriorityQueue<Action> actions = new PriorityQueue<>((left, right) -> (left.at != right.at)
			? Long.compare(left.at, right.at) : Long.compare(left.order, right.order));

	private long now;

	private long order;

	final MemoryLeases world;

	final MemoryLeaseStore operator;

	/** Those that are, or were the last. */
	private final List<SimulatedInstance> instances = new ArrayList<>();

	private final List<SimulatedUser> users = new ArrayList<>();

	private final List<SimulatedThread> threads = new ArrayList<>();

	private final List<Event> history = new ArrayList<>();

	private final boolean tracing;

	private final List<String> trace = new ArrayList<>();

	private final SimulatedFleet fleet = new SimulatedFleet(this);

	/** Where grants are confirmed. */
	@Nullable SimulatedReplicas replicas;

	private boolean faultsOver;

	/** How many actions are to come that are not only for those who watch. */
	private int foreground;

	private int strangers;

	/** How often something was released by force. */
	int forced;

	int granted;

	int refused;

	int lost;

	private Simulation(Plan plan, Mutant mutant, boolean tracing, Duration handoffTimeout) {
		this.plan = plan;
		this.mutant = mutant;
		this.tracing = tracing;
		this.world = new MemoryLeases(() -> this.now, handoffTimeout);
		this.operator = new MemoryLeaseStore(this.world);
	}

	/** One in which nothing happens by itself. */
	static Simulation idle(Duration handoffTimeout) {
		return new Simulation(new Plan(new Step.Setup(0, 0, 0, true, false), List.of()), Mutant.NONE, false,
				handoffTimeout);
	}

	/** Run a plan, and judge what happened. */
	static Outcome run(Plan plan, Mutant mutant, boolean tracing) {
		Simulation simulation = new Simulation(plan, mutant, tracing, SimulatedInstance.HANDOFF);
		List<String> violations;
		try {
			simulation.run();
			violations = Checker.check(simulation.history, SLACK, POLL);
		}
		catch (RuntimeException | Error ex) {
			simulation.trace(() -> Stream.of(ex.getStackTrace()).limit(30).toList().toString());
			violations = List.of("failed: " + ex);
		}
		finally {
			simulation.threads.forEach(SimulatedThread::giveBack);
		}
		return new Outcome(violations, simulation.trace, simulation.granted, simulation.refused, simulation.lost);
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
		this.instances.forEach(this.fleet::introduce);
		this.plan.steps().forEach(this::expect);
		Map<Hold, String> holds = new IdentityHashMap<>();
		uses.values()
			.forEach((all) -> this.users
				.add(new SimulatedUser(this, this.instances.get(all.get(0).instance()), all, holds)));
		this.users.forEach(SimulatedUser::next);
		at(Plan.FAULTS_MILLIS * MILLI, () -> {
			this.faultsOver = true;
			this.plan.steps()
				.stream()
				.filter(Limit.class::isInstance)
				.forEach((step) -> limit("k" + ((Limit) step).key(), -1));
			record(Event.of(this.now, Type.FAULTS_OVER, ""));
		});
		drain();
		record(Event.of(this.now, Type.QUIET, ""));
		this.fleet.look();
		// What dead instances left goes by itself.
		this.now += 2000 * MILLI;
		look();
	}

	private void expect(Step step) {
		if (step instanceof Step.Command command) {
			this.instances.get(command.instance()).store.expect(command);
		}
		else if (step instanceof Step.WakeUp wakeUp) {
			this.instances.get(wakeUp.instance()).store.expect(wakeUp);
		}
		else if (step instanceof Pause pause) {
			at(pause.at() * MILLI, () -> this.instances.get(pause.instance()).pause(pause.millis() * MILLI));
		}
		else if (step instanceof Crash crash) {
			at(crash.at() * MILLI, () -> this.instances.get(crash.instance()).crash());
		}
		else if (step instanceof Restart restart) {
			at(restart.at() * MILLI, () -> restart(restart.instance()));
		}
		else if (step instanceof Deaf deaf) {
			at(deaf.at() * MILLI, () -> this.instances.get(deaf.instance()).store.deaf(deaf.millis() * MILLI));
		}
		else if (step instanceof Outage outage) {
			at(outage.at() * MILLI, () -> this.instances.get(outage.instance()).store.outage(outage));
		}
		else if (step instanceof Foreign foreign) {
			at(foreign.at() * MILLI, () -> foreign("k" + foreign.key(), foreign.millis()));
		}
		else if (step instanceof Inquire inquire) {
			at(inquire.at() * MILLI, () -> this.fleet.inquire(this.instances.get(inquire.instance())));
		}
		else if (step instanceof ForceBy force) {
			at(force.at() * MILLI, () -> this.fleet.force(this.instances.get(force.instance()), force));
		}
		else if (step instanceof Limit limit) {
			at(limit.at() * MILLI, () -> limit("k" + limit.key(), limit.limit()));
		}
		else if (step instanceof Force force) {
			at(force.at() * MILLI, () -> force("k" + force.key()));
		}
		else if (step instanceof DataLoss loss) {
			at(loss.at() * MILLI, () -> {
				record(Event.of(this.now, Type.DATA_LOST, ""));
				this.world.clear();
			});
		}
		else if (step instanceof Missing missing) {
			SimulatedReplicas all = this.replicas;
			if (all != null) {
				at(missing.at() * MILLI, () -> all.miss(missing.millis() * MILLI));
			}
		}
		else if (step instanceof FailOver over) {
			SimulatedReplicas all = this.replicas;
			at((over.at() - over.lag()) * MILLI, () -> {
				MemoryLeases.Replica replica = this.world.replica();
				if (all != null) {
					all.miss(over.lag() * MILLI);
				}
				at(over.lag() * MILLI, () -> {
					if (all != null) {
						all.failedOver();
					}
					record(Event.of(this.now, Type.FAILED_OVER, "").until(this.now + over.grace() * MILLI));
					this.world.failOver(replica, Duration.ofMillis(over.grace()));
				});
			});
		}
		else if (step instanceof ShutDown down) {
			at(down.at() * MILLI, () -> this.instances.get(down.instance())
				.shutDown(down.patience() * MILLI, (down.resume() >= 0) ? down.resume() * MILLI : -1));
		}
	}

	private void drain() {
		for (int count = 0; this.foreground > 0; count++) {
			if (count > MOST_EVENTS) {
				throw new IllegalStateException("property 6: the history does not end");
			}
			next();
		}
	}

	private void next() {
		Action action = this.actions.remove();
		this.foreground -= action.background ? 0 : 1;
		if (!action.cancelled && (action.instance == null || !action.instance.crashed)) {
			this.now = Math.max(this.now, action.at);
			run(action);
		}
	}

	/** Let all happen that does within a time. */
	void elapse(long nanos) {
		long until = this.now + nanos;
		while (!this.actions.isEmpty() && this.actions.peek().at <= until) {
			next();
		}
		this.now = until;
	}

	private void run(Action action) {
		long paused = (action.instance != null) ? action.instance.pausedFor() : 0;
		if (paused == 0) {
			action.action.run();
		}
		else {
			action.at = this.now + paused;
			action.order = this.order++;
			add(action);
		}
	}

	private void add(Action action) {
		this.foreground += action.background ? 0 : 1;
		this.actions.add(action);
	}

	/** What is left when all is over. */
	private void look() {
		if (!this.world.isIdle()) {
			for (int key = 0; key < this.plan.setup().keys(); key++) {
				look("k" + key);
			}
		}
		for (SimulatedInstance instance : this.instances) {
			if (!instance.crashed) {
				instance.left("of the engine", instance.engine.isIdle() ? 0 : 1);
				instance.observer.problems().forEach((problem) -> instance.left("with the observer: " + problem, 1));
			}
		}
	}

	private void look(String key) {
		KeyState lock = this.operator.inspect(new Resource(Kind.LOCK, key)).join();
		stored(Mode.EXCLUSIVE, key, "HELD", (lock.owner() != null && !lock.shared()) ? 1 : 0);
		stored(Mode.EXCLUSIVE, key, "WAITING", lock.waiting());
		PermitState shared = this.operator.inspectPermits(new Resource(Kind.READ_WRITE, key), 0).join();
		stored(Mode.READ, key, "HELD", shared.holderCount());
		stored(Mode.READ, key, "WAITING", shared.waiting());
		PermitState permits = this.operator.inspectPermits(new Resource(Kind.SEMAPHORE, key), 0).join();
		stored(Mode.PERMITS, key, "HELD", permits.used());
		stored(Mode.PERMITS, key, "WAITING", permits.waiting());
	}

	private void stored(Mode mode, String key, String what, int count) {
		if (count > 0) {
			record(Event.of(this.now, Type.STORED, "").of(mode, key).why(what).permits(count, 0));
		}
	}

	private void restart(int number) {
		SimulatedInstance dead = this.instances.get(number);
		if (dead.crashed) {
			SimulatedInstance started = new SimulatedInstance(dead);
			this.instances.set(number, started);
			this.fleet.introduce(started);
			this.users.stream().filter((user) -> user.isAt(dead)).toList().forEach((user) -> user.goOn(started));
		}
	}

	private void foreign(String key, int millis) {
		if (this.world.takeIfFree(key, "somebody", millis)) {
			String id = "f" + this.strangers++;
			long until = this.now + millis * MILLI;
			record(Event.of(this.now, Type.ASKED, "somebody").id(id).of(Mode.EXCLUSIVE, key).lease(until - this.now));
			record(Event.of(this.now, Type.GRANTED, "somebody").id(id).until(until));
		}
	}

	private void limit(String key, int limit) {
		this.operator.limit(new Resource(Kind.SEMAPHORE, key), (limit >= 0) ? limit : null);
		record(Event.of(this.now, Type.LIMIT, "").of(Mode.PERMITS, key).permits(0, limit).until(this.now));
	}

	private void force(String key) {
		String owner = this.operator.inspect(new Resource(Kind.LOCK, key)).join().owner();
		if (owner != null && !owner.isEmpty()) {
			this.operator.release(new Resource(Kind.LOCK, key), Ask.unknown(owner, 1), null);
			forced(Mode.EXCLUSIVE, key);
		}
		for (Kind kind : List.of(Kind.READ_WRITE, Kind.SEMAPHORE)) {
			Resource resource = new Resource(kind, key);
			List<LeaseStore.Holder> holders = this.operator.inspectPermits(resource, 100).join().holders();
			holders.forEach((holder) -> this.operator.release(resource, Ask.unknown(holder.token(), 1), null));
			if (!holders.isEmpty()) {
				forced((kind == Kind.SEMAPHORE) ? Mode.PERMITS : Mode.EXCLUSIVE, key);
			}
		}
	}

	/** Something was released by force. */
	void forced(Mode mode, String key) {
		this.forced++;
		record(Event.of(this.now, Type.FORCED, "").of(mode, key));
	}

	// For all that take part

	long now() {
		return this.now;
	}

	SimulatedThread newThread() {
		SimulatedThread thread = SimulatedThread.take();
		this.threads.add(thread);
		return thread;
	}

	boolean areFaultsOver() {
		return this.faultsOver;
	}

	void at(long delay, Runnable action) {
		add(new Action(this.now + Math.max(0, delay), this.order++, null, action, false));
	}

	/**
	 * Run on an instance's threads: later if they stand still then, never if it is dead.
	 */
	Timer schedule(long delay, SimulatedInstance instance, Runnable action) {
		return schedule(delay, instance, action, false);
	}

	/** Likewise; a history may end before what is done in the background. */
	Timer schedule(long delay, SimulatedInstance instance, Runnable action, boolean background) {
		Action scheduled = new Action(this.now + Math.max(0, delay), this.order++, instance, action, background);
		add(scheduled);
		return scheduled;
	}

	/**
	 * Chance that depends on nothing but its name: what else happens does not shift it.
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
			this.trace.add(this.now / MILLI + " ms: " + line.get());
		}
	}

	private static final class Action implements Timer {

		private long at;

		private long order;

		private final @Nullable SimulatedInstance instance;

		private final Runnable action;

		private final boolean background;

		private boolean cancelled;

		Action(long at, long order, @Nullable SimulatedInstance instance, Runnable action, boolean background) {
			this.at = at;
			this.order = order;
			this.instance = instance;
			this.action = action;
			this.background = background;
		}

		@Override
		public void cancel() {
			this.cancelled = true;
		}

	}

	/**
	 * What a run came to.
	 *
	 * @param violations what must not have happened
	 * @param trace all that happened, if that was wanted
	 * @param granted how many requests were granted
	 * @param refused how many were not
	 * @param lost how many leases were lost
	 */
	record Outcome(List<String> violations, List<String> trace, int granted, int refused, int lost) {
	}

}
