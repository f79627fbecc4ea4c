package io.holdfast.engine;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The blocking and the asynchronous way to a lease, the same for locks and permits.
 * Thread-safe.
 *
 * @param <L> the leases as their users know them
 */
final class Acquirer<L extends Lease> {

	/** How much later than its deadline a blocked call looks after itself. */
	private static final long SLACK = TimeUnit.MILLISECONDS.toNanos(150);

	private final LeaseEngine engine;

	private final EngineContext context;

	private final Function<Lease, L> type;

	Acquirer(LeaseEngine engine, Function<Lease, L> type) {
		this.engine = engine;
		this.context = engine.context;
		this.type = type;
	}

	/** Acquire for the current thread; an interrupt ends the wait by an exception. */
	L acquire(List<Demand> demands, @Nullable LeaseContext context) {
		long startedAt = this.context.now();
		try {
			return await(demands, context);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw Failures.notAcquired(demands.get(0), Reason.INTERRUPTED, this.context.now() - startedAt, ex);
		}
	}

	/** Acquire as {@link #acquire} does; empty if others held it for too long. */
	Optional<L> tryAcquire(List<Demand> demands, @Nullable LeaseContext context) {
		try {
			return Optional.of(acquire(demands, context));
		}
		catch (NotAcquiredException ex) {
			if (ex.getReason() == Reason.TIMED_OUT) {
				return Optional.empty();
			}
			throw ex;
		}
	}

	/** Acquire for the current thread, in which an interrupt ends the wait. */
	L await(List<Demand> demands, @Nullable LeaseContext context) throws InterruptedException {
		if (Thread.interrupted()) {
			throw new InterruptedException();
		}
		Acquisition acquisition = start(demands, context);
		try {
			return await(acquisition);
		}
		catch (InterruptedException ex) {
			acquisition.interrupt(ex);
			if (acquisition.result().handle((lease, error) -> error != null).join()) {
				throw ex;
			}
			// Granted just before: the caller has the lease, and still its flag.
			Thread.currentThread().interrupt();
			return this.type.apply(acquisition.result().join());
		}
	}

	/**
	 * Acquire for the current thread, whatever its interrupt flag says, which is kept.
	 */
	L awaitUninterruptibly(List<Demand> demands, @Nullable LeaseContext context) {
		boolean interrupted = Thread.interrupted();
		try {
			Acquisition acquisition = start(demands, context);
			while (true) {
				try {
					return await(acquisition);
				}
				catch (InterruptedException ex) {
					interrupted = true;
				}
			}
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	private Acquisition start(List<Demand> demands, @Nullable LeaseContext context) {
		return this.engine.acquire(demands, Thread.currentThread(),
				(context != null) ? context : LeaseContext.current());
	}

	private L await(Acquisition acquisition) throws InterruptedException {
		try {
			this.context.scheduler.waitFor(acquisition.turn(), acquisition.leftNanos() + SLACK);
			if (!acquisition.result().isDone()) {
				acquisition.come();
			}
			return this.type
				.apply(this.context.scheduler.waitFor(acquisition.result(), acquisition.leftNanos() + SLACK));
		}
		catch (ExecutionException ex) {
			throw rethrown(ex);
		}
		catch (TimeoutException ex) {
			// The engine's own timer is late: this thread is not.
			acquisition.overdue();
			try {
				return this.type.apply(acquisition.result().join());
			}
			catch (CompletionException failure) {
				throw rethrown(failure);
			}
		}
	}

	/** The engine's exception, with the stack of the thread that it is thrown in. */
	private static RuntimeException rethrown(Exception ex) {
		if (ex.getCause() instanceof RuntimeException cause) {
			cause.setStackTrace(new Throwable().getStackTrace());
			return cause;
		}
		return new IllegalStateException(ex);
	}

	CompletableFuture<L> acquireAsync(List<Demand> demands, @Nullable LeaseContext context) {
		return start(demands, context, this.type, (error) -> null);
	}

	CompletableFuture<Optional<L>> tryAcquireAsync(List<Demand> demands, @Nullable LeaseContext context) {
		return start(demands, context, (lease) -> Optional.of(this.type.apply(lease)),
				(error) -> (error instanceof NotAcquiredException ex && ex.getReason() == Reason.TIMED_OUT)
						? Optional.empty() : null);
	}

	/**
	 * A future for users: what they do to it ends the wait, and what comes too late is
	 * released.
	 */
	private <T> CompletableFuture<T> start(List<Demand> demands, @Nullable LeaseContext context,
			Function<Lease, T> success, Function<Throwable, @Nullable T> instead) {
		Acquisition acquisition = this.engine.acquire(demands, null,
				(context != null) ? context : LeaseContext.empty());
		CompletableFuture<T> face = new CompletableFuture<>();
		acquisition.result().whenCompleteAsync((lease, error) -> {
			T failed = (error != null) ? instead.apply(error) : null;
			if (failed != null) {
				face.complete(failed);
			}
			else if (error != null) {
				face.completeExceptionally(error);
			}
			else if (!face.complete(success.apply(lease))) {
				lease.discardAsync();
			}
		}, this.context::execute);
		face.whenComplete((result, error) -> {
			if (!acquisition.result().isDone()) {
				// Cancelled, or completed by its user.
				acquisition.interrupt(null);
			}
		});
		return face;
	}

}
