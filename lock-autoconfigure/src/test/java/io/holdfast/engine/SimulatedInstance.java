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
 * One instance of a {@link Simulation}: its engine, its clock, and its threads, which may
 * stand still or die all at once.
 */
final class SimulatedInstance implements Scheduler {

	static final Duration HANDOFF = Duration.ofMillis(100);

	private static final Duration PASSING = Duration.ofMillis(200);

	private static final long MILLION = 1_000_000;

	/** What an engine plans for so much later is for those who watch, or for never. */
	private static final long LONG = Duration.ofSeconds(7).toNanos();

	static final EngineSettings SETTINGS = new EngineSettings(Duration.ofSeconds(1), Duration.ofMillis(300), null,
			Duration.ZERO, Duration.ofSeconds(1), Duration.ofMillis(300), true, HANDOFF, Duration.ofMillis(20),
			Duration.ofMillis(250), Duration.ofMillis(100), 1000, 1000, HandOverLimits.NONE, HandOverLimits.NONE);

	final Simulation simulation;

	final int number;

	/** How often it was started again. */
	private final int generation;

	/** Which copy of another one it is, 0 if it is none. */
	private final int copy;

	final String name;

	final LeaseEngine engine;

	final SimulatedStore store;

	final SimulatedLocks locks;

	final DefaultSemaphoreService semaphores;

	final ReactiveLockService reactiveLocks;

	final ReactiveSemaphoreService reactiveSemaphores;

	final OrderlyObserver observer = new OrderlyObserver();

	/** What users have and have not released, and what it is called. */
	final Map<LeaseHandle, String> open = new LinkedHashMap<>();

	private final long fast;

	private final long start;

	boolean crashed;

	/** How often it was resumed: one shut-down may end after the next one has begun. */
	private int resumed;

	/** Tokens that a command has brought back which came too late for any release. */
	final Set<String> broughtBack = new HashSet<>();

	private long pausedUntil;

	/** How often its engine was started. */
	private int starts;

	/** The id of the one that it was when it was copied. */
	private @Nullable String idBefore;

	private long randomNumber;

	SimulatedInstance(Simulation simulation, int number, @Nullable Clock clock) {
		this(simulation, number, 0, 0, clock, null);
	}

	/** One that is started in place of another that is dead. */
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
				Settings.with(SETTINGS, new HandOverLimits(simulation.plan.setup().passes(), PASSING)), this,
				(task) -> at(0, task), this::newId,
				() -> (simulation.dice(this.number, -1 - this.randomNumber++) >>> 10) * 0x1.0p-53);
		Fleet.of(this.engine);
		this.engine.observe(this.observer);
		if (copy > 0) {
			beAs(before);
		}
		this.engine.resume();
		this.locks = new SimulatedLocks(this);
		this.semaphores = new DefaultSemaphoreService(this.engine);
		this.reactiveLocks = new ReactiveLockService(this.locks);
		this.reactiveSemaphores = new ReactiveSemaphoreService(this.semaphores);
	}

	/**
	 * One that goes on as this one does, which is stopped and is about to be started.
	 * @param number which copy
	 */
	SimulatedInstance copy(int number) {
		SimulatedInstance started = new SimulatedInstance(this.simulation, this.number, this.generation, number,
				clock(), this);
		this.idBefore = id();
		return started;
	}

	/** Be stopped, as another one is, with its id and the number of its last request. */
	private void beAs(SimulatedInstance stopped) {
		this.idBefore = stopped.id();
		this.engine.shutDown(Duration.ZERO);
		this.engine.context.ensureStarted();
		RequestNumbers.copy(stopped.engine.queues, this.engine.queues);
	}

	private Clock clock() {
		return new Clock(this.number, (int) this.fast, this.start);
	}

	/** Who it is, for the store. */
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

	/** Its own chance, by a number. */
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
				left("holds after the shut-down", this.engine.queues.renewer.holds().size());
				left("subscriptions after the shut-down", this.store.isListening() ? 1 : 0);
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
		// Answers that do not come take the command timeout; all else here is slack.
		long most = patience + SETTINGS.commandTimeout().toNanos() + Plan.FAULTS_MILLIS * Simulation.MILLI;
		at(most, () -> left("shut-downs without end", done[0] ? 0 : 1));
	}

	void left(String what, int count) {
		if (count != 0) {
			this.simulation.record(Event.of(now(), Type.LEFT, this.name).why(what.replace(' ', '-')).permits(count, 0));
		}
	}

	/** Until when a lease is held, by the clock that all share. */
	long end(LeaseHandle lease) {
		return shared(lease.hold.validUntil());
	}

	/** Return a time of this instance's clock by the clock that all share. */
	long shared(long nanoTime) {
		return Math.floorDiv((nanoTime - this.start) * MILLION, MILLION + this.fast);
	}

	/**
	 * Run on this instance's threads: later if they stand still then, never if it is
	 * dead.
	 */
	void at(long delay, Runnable action) {
		this.simulation.time.schedule(delay, this, action, false);
	}

	/** How long its threads do not run yet. */
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
		// Never early: not by a nanosecond.
		long delay = (long) (Math.max(0, delayNanos) / (1 + this.fast / 1e6)) + 2;
		return this.simulation.time.schedule(delay, this, action, delay >= LONG);
	}

}
