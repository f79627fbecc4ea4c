package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseRequest;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.Step.Access;
import io.holdfast.engine.Step.Api;
import io.holdfast.engine.Step.Use;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Request of a {@link SimulatedUser} by an API, and its answer.
 */
final class SimulatedRequest {

	/** Maximum hold, also the default: the checker knows no other. */
	static final Duration MAX_HOLD = Duration.ofSeconds(2);

	/** Time after the deadline at which a blocked call ends its own wait. */
	private static final long OVERDUE = 150 * Simulation.MILLI;

	private final SimulatedInstance instance;

	private final Use use;

	private final LeaseContext context;

	private final LockRequest locks;

	private final SemaphoreRequest permits;

	private final List<ResolvedRequest> requests;

	SimulatedRequest(SimulatedInstance instance, Use use, LeaseContext context) {
		this.instance = instance;
		this.use = use;
		this.context = context;
		boolean marked = use.isForCode() && instance.simulation.mutant != Mutant.UNMARKED_CODE;
		int margin = (instance.simulation.mutant != Mutant.NO_LOSS_MARGIN) ? use.margin() : 0;
		LockRequest locks = locks(use, margin, context);
		SemaphoreRequest permits = permits(use, instance.simulation.plan);
		this.locks = marked ? locks.forCode() : locks;
		this.permits = marked ? permits.forCode() : permits;
		this.requests = (use.mode() == Access.PERMITS)
				? List.of(Settings.resolve(this.permits, SimulatedInstance.SETTINGS))
				: Settings.resolve(this.locks, SimulatedInstance.SETTINGS);
	}

	private static LockRequest locks(Use use, int margin, LeaseContext context) {
		List<String> keys = (use.key() >= 0) ? List.of("k" + use.key()) : List.of("k0", "k1");
		LockMode mode = switch (use.mode()) {
			case READ -> LockMode.READ;
			case EXCLUSIVE, PERMITS -> LockMode.EXCLUSIVE;
		};
		LockRequest request = withTimes(LockRequest.ofAll(keys).mode(mode), use).lossMargin(Duration.ofMillis(margin))
			.within(context);
		return (use.waiting() < 0) ? request.waitForever() : request.waitTime(Duration.ofMillis(use.waiting()));
	}

	private static SemaphoreRequest permits(Use use, Plan plan) {
		SemaphoreRequest request = withTimes(plan.permit("k" + Math.max(0, use.key())).permits(use.permits()), use)
			.fair(use.fair());
		return (use.waiting() < 0) ? request.waitForever() : request.waitTime(Duration.ofMillis(use.waiting()));
	}

	private static <R extends LeaseRequest<R>> R withTimes(R request, Use use) {
		R changed = request.leaseTime(Duration.ofMillis(use.lease())).autoRenew(use.renewal());
		return use.renewal() ? changed.maxHold(MAX_HOLD).minHold(Duration.ofMillis(use.minHold()))
				: changed.minHold(Duration.ofMillis(Math.min(use.minHold(), use.lease())));
	}

	/** Return the resolved requests, one for each key. */
	List<ResolvedRequest> requests() {
		return this.requests;
	}

	/**
	 * Send the request.
	 * @param api the API
	 * @param thread the calling thread, for a blocking API
	 * @param answer receives the lease or the error
	 * @return an action that cancels the request
	 */
	Runnable send(Api api, Thread thread, BiConsumer<Lease, Throwable> answer) {
		return switch (api) {
			case THREAD, UNINTERRUPTIBLE, VIEW,
					UNINTERRUPTIBLE_VIEW ->
				(api == Api.THREAD && thread instanceof SimulatedThread own) ? call(own,
						() -> (this.use.mode() == Access.PERMITS) ? this.instance.semaphores.acquire(this.permits)
								: this.instance.locks.acquire(this.locks),
						answer)
						: block(this.instance.engine.queues.acquire(this.requests, thread, this.context), answer);
			case ASYNC ->
				follow((this.use.mode() == Access.PERMITS) ? this.instance.semaphores.acquireAsync(this.permits)
						: this.instance.locks.acquireAsync(this.locks), answer);
			case TRY_ASYNC -> (this.use.mode() == Access.PERMITS)
					? followOptional(this.instance.semaphores.tryAcquireAsync(this.permits), answer)
					: followOptional(this.instance.locks.tryAcquireAsync(this.locks), answer);
			case REACTIVE -> subscribe(
					(this.use.mode() == Access.PERMITS) ? this.instance.reactiveSemaphores.tryAcquire(this.permits)
							: this.instance.reactiveLocks.tryAcquire(this.locks),
					answer);
		};
	}

	// APIs. Each method returns an action that cancels the request

	/** Simulate a thread that is blocked in acquire. */
	private Runnable block(PendingAcquisition<?> acquisition, BiConsumer<Lease, Throwable> answer) {
		Future<?> overdue = this.instance.schedule(acquisition::endOverdue,
				acquisition.endsAt() - this.instance.nanoTime() + OVERDUE);
		acquisition.result.whenComplete((lease, error) -> overdue.cancel(false));
		acquisition.result.whenComplete((lease, error) -> this.instance.at(0, () -> {
			RequestObservation observation = acquisition.observation;
			if (observation != null) {
				observation.settled(acquisition.result, true);
			}
			answer.accept(lease, error);
		}));
		return () -> {
			if (!acquisition.result.isDone()) {
				acquisition.interrupt(new InterruptedException());
			}
		};
	}

	/** Call acquire on a simulated thread. */
	private Runnable call(SimulatedThread own, Supplier<Lease> acquire, BiConsumer<Lease, Throwable> answer) {
		boolean[] over = new boolean[1];
		own.call(() -> {
			Lease lease = null;
			RuntimeException error = null;
			try {
				lease = acquire.get();
			}
			catch (RuntimeException ex) {
				error = ex;
			}
			over[0] = true;
			Thread.interrupted();
			answer.accept(lease, error);
		});
		return () -> {
			if (!over[0]) {
				own.interrupt(this.instance);
			}
		};
	}

	private Runnable follow(CompletableFuture<? extends Lease> future, BiConsumer<Lease, Throwable> answer) {
		future.whenComplete((lease, error) -> {
			if (!future.isCancelled()) {
				answer.accept(lease, error);
			}
		});
		return () -> cancel(future, answer);
	}

	private Runnable followOptional(CompletableFuture<? extends Optional<? extends Lease>> future,
			BiConsumer<Lease, Throwable> answer) {
		future.whenComplete((lease, error) -> {
			if (!future.isCancelled()) {
				answer.accept((lease != null) ? lease.orElse(null) : null, error);
			}
		});
		return () -> cancel(future, answer);
	}

	/** Cancel the future, which answers the user. A later lease has no holder. */
	private void cancel(CompletableFuture<?> future, BiConsumer<Lease, Throwable> answer) {
		if (future.cancel(false)) {
			answer.accept(null, Simulation.INTERRUPTED);
		}
	}

	private Runnable subscribe(Mono<? extends Lease> mono, BiConsumer<Lease, Throwable> answer) {
		boolean[] over = new boolean[1];
		Disposable subscription = mono.subscribe((lease) -> {
			over[0] = true;
			answer.accept(lease, null);
		}, (error) -> {
			over[0] = true;
			answer.accept(null, error);
		}, () -> {
			if (!over[0]) {
				over[0] = true;
				answer.accept(null, null);
			}
		});
		return () -> {
			subscription.dispose();
			if (!over[0]) {
				over[0] = true;
				answer.accept(null, Simulation.INTERRUPTED);
			}
		};
	}

	/** Return the reason for a missing lease, in a word. */
	static String why(@Nullable Throwable error) {
		Throwable cause = (error instanceof CompletionException && error.getCause() != null) ? error.getCause() : error;
		if (cause == null) {
			return "TIMED_OUT";
		}
		if (cause instanceof InterruptedException) {
			return "INTERRUPTED";
		}
		if (cause instanceof NotAcquiredException ex) {
			return ex.getReason().name();
		}
		if (cause instanceof LeaseStoreException) {
			return "STORE";
		}
		if (cause instanceof LeaseLostException) {
			return "LOST";
		}
		return cause.toString().replace(' ', '_');
	}

}
