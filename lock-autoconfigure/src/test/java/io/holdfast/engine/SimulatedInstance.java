package io.holdfast.engine;

import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;

import io.holdfast.async.BlockingWait;
import io.holdfast.engine.Step.Clock;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import org.jspecify.annotations.Nullable;

/**
 * Instance of a {@link Simulation}: its engine, its clock, and its threads, which may
 * pause or die together.
 */
final class SimulatedInstance implements Scheduler {

	static final Duration HANDOFF = Duration.ofMillis(100);

	private static final Duration HAND_OVER_TIME = Duration.ofMillis(200);

	private static final long MILLION = 1_000_000;

	/** Delay from which a timer counts as background work. */
	private static final long LONG = Duration.ofSeconds(7).toNanos();

	static final EngineSettings SETTINGS = new EngineSettings(Duration.ofSeconds(1), Duration.ofMillis(300),
			SimulatedRequest.MAX_HOLD, Duration.ZERO, Duration.ofSeconds(1), Duration.ofMillis(300), true, HANDOFF,
			Duration.ofMillis(20), Duration.ofMillis(250), Duration.ofMillis(100), 1000, 1000, HandOverLimits.NONE,
			HandOverLimits.NONE);

	final Simulation simulation;

	final int number;

	/** Number of restarts. */
	private final int generation;

	/** Number of this copy, or 0 for an original. */
	private final int copy;

	final String name;

	final LeaseEngine engine;

	final SimulatedStore store;

	final SimulatedLocks locks;

	final DefaultSemaphoreService semaphores;

	final ReactiveLockService reactiveLocks;

	final ReactiveSemaphoreService reactiveSemaphores;

	final OrderlyObserver observer = new OrderlyObserver();

	/** Open leases of users, with their ids. */
	final Map<LeaseHandle, String> open = new LinkedHashMap<>();

	private final long fast;

	private final long start;

	boolean crashed;

	/** Number of resumptions. A shutdown may end after the start of the next shutdown. */
	private int resumed;

	/** Tokens revived by a command that came too late for a release. */
	final Set<String> broughtBack = new HashSet<>();

	private long pausedUntil;

	/** Number of starts of the engine. */
	private int starts;

	/** Id before the copy. */
	private @Nullable String idBefore;

	private long randomNumber;

	SimulatedInstance(Simulation simulation, int number, @Nullable Clock clock) {
		this(simulation, number, 0, 0, clock, null);
	}

	/** Create the successor of a dead instance. */
	SimulatedInstance(SimulatedInstance dead) {
		this(dead.simulation, dead.number, dead.generation + 1, 0, dead.clock(), dead);
	}

	private SimulatedInstance(Simulation simulation, int number, int generation, int copy, @Nullable Clock clock,
			@Nullable SimulatedInstance before) {
		this.simulation = simulation;
		this.number = number;
		this.generation = generation;
		this.copy = copy;
		this.name = number + ((generation > 0) ? "." + generation : "") + ((copy > 0) ? "c" + copy : "");
		this.fast = (clock != null) ? clock.fast() : 0;
		this.start = (clock != null) ? clock.start() : 0;
		this.store = new SimulatedStore(simulation, this, (before != null) ? before.store : null);
		if (simulation.replicas != null) {
			simulation.record(Event.of(simulation.now(), Type.CONFIRMING, this.name));
		}
		this.randomNumber = (before != null) ? before.randomNumber : 0;
		this.engine = new LeaseEngine(this.store,
				Settings.with(SETTINGS, new HandOverLimits(simulation.plan.setup().handOvers(), HAND_OVER_TIME)), this,
				(task) -> at(0, task), this::newId,
				() -> (simulation.dice(this.number, -1 - this.randomNumber++) >>> 10) * 0x1.0p-53);
		Fleet.of(this.engine);
		this.engine.observe(this.observer);
		if (copy > 0) {
			continueAs(before);
		}
		this.engine.resume();
		this.locks = new SimulatedLocks(this);
		this.semaphores = new DefaultSemaphoreService(this.engine);
		this.reactiveLocks = new ReactiveLockService(this.locks);
		this.reactiveSemaphores = new ReactiveSemaphoreService(this.semaphores);
	}

	/**
	 * Create a copy of this instance, which is stopped and about to start.
	 * @param number the number of the copy
	 */
	SimulatedInstance copy(int number) {
		SimulatedInstance started = new SimulatedInstance(this.simulation, this.number, this.generation, number,
				clock(), this);
		this.idBefore = id();
		return started;
	}

	/** Stop, and take over the id and the last request number of a stopped instance. */
	private void continueAs(SimulatedInstance stopped) {
		this.idBefore = stopped.id();
		this.engine.shutDown(Duration.ZERO);
		this.engine.context.ensureStarted();
		RequestNumbers.copy(stopped.engine.queues, this.engine.queues);
	}

	private Clock clock() {
		return new Clock(this.number, (int) this.fast, this.start);
	}

	/** Return the id in the store. */
	String id() {
		return this.engine.context.instanceId();
	}

	private String newId() {
		String before = this.idBefore;
		if (before != null && (!this.engine.context.isStarted() || this.simulation.mutant == Mutant.ONE_ID_OF_COPIES)) {
			return before;
		}
		return "%032x".formatted(id(this.simulation.mutant) + 4096 * this.starts++);
	}

	private int id(Mutant mutant) {
		if (mutant == Mutant.ONE_OWNER_ID) {
			return 1;
		}
		return (mutant == Mutant.SAME_ID_AGAIN) ? this.number + 1
				: this.number + 1 + 16 * this.generation + 256 * this.copy;
	}

	/** Return a random number of this instance. */
	long dice(long throwNumber) {
		return this.simulation.dice(this.number + 16 * this.copy, throwNumber);
	}

	void pause(long nanos) {
		this.pausedUntil = Math.max(this.pausedUntil, now() + nanos);
		this.simulation.record(Event.of(now(), Type.PAUSED, this.name).until(now() + nanos));
	}

	void crash() {
		if (!this.crashed) {
			this.crashed = true;
			this.open.forEach((lease, id) -> {
				if (lease.isHeld()) {
					this.simulation.record(Event.of(now(), Type.HELD, this.name).id(id).until(end(lease)));
				}
			});
			this.store.cut();
			this.simulation.record(Event.of(now(), Type.CRASHED, this.name));
		}
	}

	void shutDown(long patience, long resume) {
		shutDown(patience, resume, () -> {
		});
	}

	void shutDown(long patience, long resume, Runnable beforeResumed) {
		if (this.crashed) {
			return;
		}
		this.simulation.record(Event.of(now(), Type.SHUT_DOWN, this.name));
		boolean[] done = new boolean[1];
		int before = this.resumed;
		this.engine.shutDown(Duration.ofNanos(patience)).thenRun(() -> {
			done[0] = true;
			if (this.engine.context.isClosed() && this.resumed == before) {
				left("holds after the shutdown", this.engine.queues.renewer.holds().size());
				left("subscriptions after the shutdown", this.store.isListening() ? 1 : 0);
			}
		});
		if (resume >= 0) {
			at(resume, () -> {
				beforeResumed.run();
				this.engine.resume();
				this.resumed++;
				this.simulation.fleet.resumed(this);
				this.simulation.record(Event.of(now(), Type.RESUMED, this.name));
			});
		}
		// Missing answers take the command timeout. The rest is slack.
		long limit = patience + SETTINGS.commandTimeout().toNanos() + Plan.FAULTS_MILLIS * Simulation.MILLI;
		at(limit, () -> left("shutdowns without end", done[0] ? 0 : 1));
	}

	void left(String state, int count) {
		if (count != 0) {
			this.simulation
				.record(Event.of(now(), Type.LEFT, this.name).why(state.replace(' ', '-')).permits(count, 0));
		}
	}

	/** Return the end of a lease by the shared clock. */
	long end(LeaseHandle lease) {
		return shared(lease.hold.validUntil());
	}

	/** Convert a time of this instance's clock to the shared clock. */
	long shared(long nanoTime) {
		return Math.floorDiv((nanoTime - this.start) * MILLION, MILLION + this.fast);
	}

	/**
	 * Run an action on this instance's threads: after a pause, and never after a crash.
	 */
	void at(long delay, Runnable action) {
		this.simulation.time.schedule(delay, this, action, false);
	}

	/** Return the remaining time of a pause. */
	long pausedFor() {
		return Math.max(0, this.pausedUntil - now());
	}

	private long now() {
		return this.simulation.now();
	}

	// Scheduler

	@Override
	public <T> T waitUntil(CompletableFuture<T> future, long until)
			throws InterruptedException, ExecutionException, TimeoutException {
		SimulatedThread thread = SimulatedThread.current();
		return (thread != null) ? thread.await(this, future, until - nanoTime())
				: BlockingWait.get(future, until - nanoTime());
	}

	@Override
	public long nanoTime() {
		return this.start + now() + now() * this.fast / MILLION;
	}

	@Override
	public Future<?> schedule(Runnable action, long delayNanos) {
		// Never early, not even by a nanosecond.
		long delay = (long) (Math.max(0, delayNanos) / (1 + this.fast / 1e6)) + 2;
		return this.simulation.time.schedule(delay, this, action, delay >= LONG);
	}

}
