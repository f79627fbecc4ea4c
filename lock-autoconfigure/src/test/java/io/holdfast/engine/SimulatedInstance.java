package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import io.holdfast.engine.LeaseStore.AcquireReply.Granted;
import io.holdfast.memory.MemoryLeaseStore;

/**
 * One instance of a {@link Simulation}: its engine, its threads, which may pause or die
 * all at once, and its connection, in order but late, lossy and repeating.
 */
final class SimulatedInstance implements Scheduler, LeaseStore {

	private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

	static final Duration HANDOFF = Duration.ofMillis(100);

	private final Simulation simulation;

	final int number;

	final LeaseEngine engine;

	final OrderlyObserver observer = new OrderlyObserver();

	private final MemoryLeaseStore store;

	boolean crashed;

	long pausedFor;

	private long pausedUntil;

	private long lastExecution;

	private long lastReply;

	private WakeUps wakeUps;

	SimulatedInstance(Simulation simulation, int number) {
		this.simulation = simulation;
		this.number = number;
		this.store = new MemoryLeaseStore(simulation.world);
		EngineSettings settings = new EngineSettings(Duration.ofSeconds(1), Duration.ofMillis(300), null,
				Duration.ofSeconds(1), Duration.ofMillis(300), true, HANDOFF, Duration.ofMillis(20),
				Duration.ofMillis(250), 1000, 1000);
		this.engine = new LeaseEngine(this, settings, this, (task) -> at(0, task), "%032x".formatted(number + 1),
				simulation.random::nextDouble);
		this.engine.observe(this.observer);
	}

	/** Lose the subscription for a time, and know it. */
	void deaf(long nanos) {
		this.store.setListening(false);
		at(nanos, () -> {
			this.store.setListening(true);
			this.wakeUps.listening();
		});
	}

	void crash() {
		this.crashed = true;
		this.store.setListening(false);
	}

	/**
	 * Run on this instance's threads: later if it is paused then, never if it is dead.
	 */
	void at(long delay, Runnable action) {
		this.simulation.at(delay, () -> runOrDefer(action));
	}

	private void runOrDefer(Runnable action) {
		if (this.crashed) {
			return;
		}
		if (this.pausedUntil - now() > 0) {
			this.simulation.at(this.pausedUntil - now(), () -> runOrDefer(action));
			return;
		}
		if (chance(this.simulation.faults.pauses())) {
			long pause = this.simulation.random.nextInt(600) * MILLI;
			this.simulation.log("instance " + this.number + " pauses for " + pause / MILLI);
			this.pausedFor += pause;
			this.pausedUntil = now() + pause;
			this.simulation.at(pause, () -> runOrDefer(action));
			return;
		}
		action.run();
	}

	private long now() {
		return this.simulation.now();
	}

	private boolean chance(int perMille) {
		return this.simulation.random.nextInt(1000) < perMille;
	}

	private long latency() {
		return this.simulation.random.nextInt(chance(isOrdered() ? 50 : 300) ? 100 : 4) * MILLI / 2;
	}

	private <T> CompletableFuture<T> send(String what, Supplier<CompletableFuture<T>> command) {
		CompletableFuture<T> answer = new CompletableFuture<>();
		boolean lost = chance(this.simulation.faults.lostReplies());
		boolean failed = chance(this.simulation.faults.failures());
		boolean executed = !failed || this.simulation.random.nextBoolean();
		boolean repeated = chance(this.simulation.faults.repeats());
		long execution = now() + latency();
		if (isOrdered()) {
			execution = Math.max(this.lastExecution, execution);
			this.lastExecution = execution;
		}
		this.simulation.at(execution - now(), () -> {
			// Given up before it was sent, perhaps.
			if (answer.isCancelled() && this.simulation.random.nextBoolean()) {
				return;
			}
			if (repeated) {
				command.get();
			}
			if (repeated && !isOrdered() && what.startsWith("release")) {
				// A copy on a connection that was given up: much later.
				this.simulation.at(this.simulation.random.nextInt(150) * MILLI, command::get);
			}
			@Nullable T reply = executed ? command.get().join() : null;
			this.simulation.log(this.number + ": " + what + " -> " + reply + (lost ? " (lost)" : ""));
			long arrival = now() + latency();
			if (isOrdered()) {
				arrival = Math.max(this.lastReply, arrival);
				this.lastReply = arrival;
			}
			if (!lost) {
				at(arrival - now(), () -> {
					if (failed || reply == null) {
						answer.completeExceptionally(new StoreFailure("connection reset", true, null));
					}
					else {
						answer.complete(reply);
					}
				});
			}
		});
		return answer;
	}

	// LeaseStore

	@Override
	public void start(String instanceId, WakeUps wakeUps) {
		this.wakeUps = wakeUps;
		this.store.start(instanceId, new WakeUps() {

			@Override
			public void handedOver(Resource resource, String token, long fence, long ttlMillis) {
				if (!chance(SimulatedInstance.this.simulation.faults.lostWakeUps())) {
					long delay = chance(100) ? SimulatedInstance.this.simulation.random.nextInt(400) * MILLI
							: latency() * 2;
					// Who is to be confirmed has to ask.
					long ttl = SimulatedInstance.this.simulation.faults.confirming() ? 0 : ttlMillis;
					at(delay, () -> wakeUps.handedOver(resource, token, fence, ttl));
				}
			}

			@Override
			public void listening() {
				at(latency(), wakeUps::listening);
			}

		});
	}

	@Override
	public void stop() {
		this.store.stop();
	}

	@Override
	public boolean isListening() {
		return this.store.isListening();
	}

	@Override
	public boolean isOrdered() {
		return this.simulation.faults.ordered();
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, Ask ask, boolean enqueue) {
		CompletableFuture<AcquireReply> answer = send("acquire " + resource + " " + ask.token().substring(31),
				() -> this.store.acquire(resource, ask, enqueue));
		return this.simulation.faults.confirming() ? confirmed(answer) : answer;
	}

	/** Hold grants back for a while, as a store does that waits for replicas. */
	private CompletableFuture<AcquireReply> confirmed(CompletableFuture<AcquireReply> answer) {
		CompletableFuture<AcquireReply> confirmed = new CompletableFuture<>() {

			@Override
			public boolean cancel(boolean mayInterruptIfRunning) {
				answer.cancel(mayInterruptIfRunning);
				return super.cancel(mayInterruptIfRunning);
			}

		};
		answer.whenComplete((reply, error) -> {
			if (error != null) {
				confirmed.completeExceptionally(error);
			}
			else if (reply instanceof Granted) {
				boolean failed = chance(this.simulation.faults.unconfirmed());
				at(latency(), () -> {
					if (failed) {
						confirmed.completeExceptionally(StoreFailure.unconfirmed("few replicas"));
					}
					else {
						confirmed.complete(reply);
					}
				});
			}
			else {
				confirmed.complete(reply);
			}
		});
		return confirmed;
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, Ask ended, @Nullable Ask next) {
		return send(
				"release " + resource + " " + ended.token().substring(31)
						+ ((next != null) ? " next " + next.token().substring(31) : ""),
				() -> this.store.release(resource, ended, next).thenApply(this::withoutGrant));
	}

	/** Who is granted something by another one's release asks, to be confirmed. */
	private ReleaseReply withoutGrant(ReleaseReply reply) {
		return this.simulation.faults.confirming() && reply.next() instanceof Granted
				? new ReleaseReply(reply.released(), null) : reply;
	}

	@Override
	public int partOf(Resource resource) {
		return 0;
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		return send("renew " + renewals, () -> this.store.renew(renewals));
	}

	@Override
	public CompletableFuture<Boolean> retain(Renewal lease) {
		return send("retain " + lease, () -> this.store.retain(lease));
	}

	@Override
	public CompletableFuture<KeyState> inspect(Resource resource) {
		return send("inspect", () -> this.store.inspect(resource));
	}

	@Override
	public CompletableFuture<Boolean> shrink(Resource resource, Ask held, int kept) {
		return send("shrink " + held.token().substring(31) + " to " + kept,
				() -> this.store.shrink(resource, held, kept));
	}

	@Override
	public CompletableFuture<PermitState> inspectPermits(Resource resource, int maxHolders) {
		return send("inspect", () -> this.store.inspectPermits(resource, maxHolders));
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return send("limit " + resource + " " + limit, () -> this.store.limit(resource, limit));
	}

	@Override
	public FleetStore fleet() {
		throw new UnsupportedOperationException();
	}

	@Override
	public InstanceStore instances() {
		throw new UnsupportedOperationException();
	}

	@Override
	public void close() {
		this.store.close();
	}

	// Scheduler

	@Override
	public long nanoTime() {
		return now();
	}

	@Override
	public Timer schedule(Runnable action, long delayNanos) {
		boolean[] cancelled = new boolean[1];
		at(delayNanos, () -> {
			if (!cancelled[0]) {
				action.run();
			}
		});
		return () -> cancelled[0] = true;
	}

}
