package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;

/**
 * Acquires, holds and releases, again and again, on one instance of a {@link Simulation}.
 */
final class SimulatedUser {

	private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

	private final Simulation simulation;

	final SimulatedInstance instance;

	/** Never started: it only owns. */
	private final Thread thread = new Thread();

	private int steps;

	SimulatedUser(Simulation simulation, SimulatedInstance instance, int steps) {
		this.simulation = simulation;
		this.instance = instance;
		this.steps = steps;
	}

	boolean isDone() {
		return this.steps < 0 || this.instance.crashed;
	}

	void next() {
		if (this.steps-- == 0 || this.instance.crashed) {
			return;
		}
		boolean patient = random(4) == 0;
		int wait = patient ? 30_000 : random(4) * random(400);
		acquire(newDemands(wait), patient, wait, false);
	}

	private List<Demand> newDemands(int wait) {
		String key = "k" + random(this.simulation.keys);
		Duration lease = Duration.ofMillis(100 + random(400));
		boolean renewal = random(3) > 0;
		EngineSettings settings = this.instance.engine.settings;
		if (this.simulation.workload == Workload.SEMAPHORES) {
			int permits = (random(6) == 0) ? Simulation.LIMIT : 1 + random(2);
			SemaphoreRequest request = SemaphoreRequest.of(key, Simulation.LIMIT)
				.permits(permits)
				.waitTime(Duration.ofMillis(wait))
				.leaseTime(lease)
				.renewal(renewal)
				.maxHold(Duration.ofSeconds(2))
				.minHold(minHold())
				.fair(random(5) > 0);
			return List.of(Demand.of(request, settings));
		}
		LockMode mode = (this.simulation.workload == Workload.LOCKS) ? LockMode.EXCLUSIVE
				: (random(8) == 0) ? LockMode.EXCLUSIVE : (random(3) == 0) ? LockMode.WRITE : LockMode.READ;
		boolean several = this.simulation.workload == Workload.LOCKS && random(5) == 0;
		LockRequest request = (several ? LockRequest.ofAll(this.simulation.allKeys()) : LockRequest.of(key)).mode(mode)
			.minHold(minHold())
			.waitTime(Duration.ofMillis(wait))
			.leaseTime(lease)
			.renewal(renewal)
			.maxHold(Duration.ofSeconds(2));
		return Demand.of(request, settings);
	}

	private Duration minHold() {
		return Duration.ofMillis((random(5) == 0) ? random(300) : 0);
	}

	private void acquire(List<Demand> demands, boolean patient, int wait, boolean besideAnother) {
		long startedAt = this.simulation.now();
		this.simulation.log(this + " asks " + demands);
		CompletableFuture<Optional<Lease>> answer = start(demands);
		if (random(10) == 0) {
			this.instance.at(random(300) * MILLI, () -> answer.cancel(false));
		}
		answer.whenComplete((acquired, error) -> this.instance.at(0, () -> {
			long late = this.simulation.now() - startedAt - Math.max(wait, 250) * MILLI - this.instance.pausedFor;
			check(!patient || acquired == null || acquired.isPresent(), this + " never got its turn");
			check(late < 250 * MILLI, this + " was answered " + late / MILLI + " ms late");
			check(!(error instanceof NotAcquiredException ex) || isRefusalPossible(ex), this + " got " + error);
			Lease lease = (acquired != null) ? acquired.orElse(null) : null;
			if (lease instanceof JointLease joint) {
				granted(demands, joint.parts(), joint, besideAnother);
			}
			else if (lease instanceof HeldLease held) {
				granted(demands, List.of(held), held, besideAnother);
			}
			else {
				this.simulation.timedOut++;
				this.simulation.log(this + " did not get " + demands + ((error != null) ? ": " + error : ""));
				nextAfter(random(50), besideAnother);
			}
		}));
	}

	private boolean isRefusalPossible(NotAcquiredException ex) {
		return switch (ex.getReason()) {
			case EXCEEDS_LIMIT -> this.simulation.faults.operator();
			// It may still read what it wrote before.
			case SELF_BLOCKED -> this.simulation.workload == Workload.READERS_AND_WRITERS;
			default -> false;
		};
	}

	/** By the asynchronous face, or as a thread of this user. */
	private CompletableFuture<Optional<Lease>> start(List<Demand> demands) {
		Resource.Kind kind = demands.get(0).resource().kind();
		if (kind == Resource.Kind.SEMAPHORE || kind == Resource.Kind.LOCK && random(2) == 0) {
			return new Acquirer<Lease>(this.instance.engine, (lease) -> lease).tryAcquireAsync(demands, null);
		}
		Acquisition acquisition = this.instance.engine.acquire(demands, this.thread, LeaseContext.empty());
		CompletableFuture<Optional<Lease>> face = new CompletableFuture<>();
		acquisition.result().whenComplete((lease, error) -> {
			if (error instanceof NotAcquiredException ex && ex.getReason() == Reason.TIMED_OUT) {
				face.complete(Optional.empty());
			}
			else if (error != null) {
				face.completeExceptionally(error);
			}
			else if (!face.complete(Optional.of(lease))) {
				lease.releaseAsync();
			}
		});
		face.whenComplete((lease, error) -> {
			if (face.isCancelled()) {
				acquisition.interrupt(null);
			}
		});
		return face;
	}

	private void granted(List<Demand> demands, List<HeldLease> parts, Lease lease, boolean besideAnother) {
		Demand demand = demands.get(0);
		for (int i = 0; i < parts.size(); i++) {
			if (parts.get(i).isHeld()) {
				this.simulation.entered(this, demands.get(i), parts.get(i), !besideAnother);
			}
		}
		lease.onLost(() -> this.simulation.lost++);
		boolean hangs = this.simulation.faults.hangs() && random(40) == 0;
		long busy = hangs ? 100_000 : random(4) * random(100);
		boolean writes = demand.resource().kind() == Resource.Kind.READ_WRITE && demand.permits() == Resource.ALL;
		if (writes && !besideAnother && random(2) == 0) {
			// What a writer reads it may go on reading when it gives up writing.
			Demand reading = new Demand(demand.resource(), 1, Resource.ALL, true, true, 1000 * MILLI, 300, 100, true,
					2000 * MILLI, true, 0, null);
			this.instance.at(random(20) * MILLI, () -> acquire(List.of(reading), false, 1000, true));
		}
		if (demand.resource().kind() != Resource.Kind.SEMAPHORE && random(5) == 0) {
			this.instance.at(random(150) * MILLI, () -> enter(demands, lease));
		}
		if (lease instanceof HeldLease.Permits permits && demand.permits() > 1 && random(3) == 0) {
			this.instance.at(busy * MILLI / 2, () -> permits.hold.gate.execute(() -> {
				if (permits.isHeld()) {
					this.simulation.log(this + " gives back all but one of " + demand.resource());
					this.instance.engine.shrink(permits.hold, 1, new CompletableFuture<>());
				}
			}));
		}
		this.instance.at(busy * MILLI, () -> {
			this.simulation.log(this + " releases " + demands);
			long now = this.simulation.now();
			parts.forEach((part) -> this.simulation.left(part));
			CompletableFuture<ReleaseResult> release = lease.releaseAsync();
			List<HeldLease> last = parts.stream().filter((part) -> part.hold.leases == 0).toList();
			release.thenAccept((result) -> {
				if (result == ReleaseResult.RELEASED) {
					last.forEach((part) -> this.simulation.retained(part, now));
				}
			});
			nextAfter(random(20), besideAnother);
		});
	}

	/**
	 * Work goes on elsewhere, by the context, and may outlive the lease that let it in.
	 */
	private void enter(List<Demand> demands, Lease outer) {
		this.simulation.log(this + " asks within " + outer);
		Acquisition acquisition = this.instance.engine.acquire(demands, null, LeaseContext.empty().with(outer));
		acquisition.result().whenComplete((inner, error) -> this.instance.at(0, () -> {
			if (inner instanceof JointLease joint) {
				granted(demands, joint.parts(), joint, true);
			}
			else if (inner instanceof HeldLease held) {
				granted(demands, List.of(held), held, true);
			}
		}));
	}

	private void nextAfter(int millis, boolean besideAnother) {
		if (!besideAnother) {
			this.instance.at(millis * MILLI, this::next);
		}
	}

	private int random(int bound) {
		return this.simulation.random.nextInt(bound);
	}

	private void check(boolean condition, String message) {
		this.simulation.check(condition, message);
	}

	@Override
	public String toString() {
		return "user " + Integer.toHexString(hashCode() & 0xffff) + " of " + this.instance.number;
	}

	/**
	 * What users ask for.
	 */
	enum Workload {

		/** Exclusive locks. */
		LOCKS,

		/** Read-write locks, and now and then an exclusive lock of the same key. */
		READERS_AND_WRITERS,

		/** Permits. */
		SEMAPHORES

	}

}
