package io.holdfast.engine;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import io.holdfast.Lease;
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

	private final Function<HeldLease, L> type;

	Acquirer(LeaseEngine engine, Function<HeldLease, L> type) {
		this.engine = engine;
		this.type = type;
	}

	/** Acquire for the current thread; an interrupt ends the wait by an exception. */
	L acquire(Demand demand) {
		long startedAt = this.engine.now();
		try {
			return await(demand);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw Failures.notAcquired(demand, Reason.INTERRUPTED, this.engine.now() - startedAt, ex);
		}
	}

	/** Acquire as {@link #acquire} does; empty if others held it for too long. */
	Optional<L> tryAcquire(Demand demand) {
		try {
			return Optional.of(acquire(demand));
		}
		catch (NotAcquiredException ex) {
			if (ex.getReason() == Reason.TIMED_OUT) {
				return Optional.empty();
			}
			throw ex;
		}
	}

	/** Acquire for the current thread, in which an interrupt ends the wait. */
	L await(Demand demand) throws InterruptedException {
		if (Thread.interrupted()) {
			throw new InterruptedException();
		}
		Waiter waiter = this.engine.acquire(demand, Thread.currentThread());
		try {
			return await(waiter);
		}
		catch (InterruptedException ex) {
			this.engine.abandon(waiter, Failures.notAcquired(waiter, Reason.INTERRUPTED, ex));
			if (waiter.result.isCompletedExceptionally()) {
				throw ex;
			}
			// Granted just before: the caller has the lease, and still its flag.
			Thread.currentThread().interrupt();
			return this.type.apply(waiter.result.join());
		}
	}

	/**
	 * Acquire for the current thread, whatever its interrupt flag says, which is kept.
	 */
	L awaitUninterruptibly(Demand demand) {
		boolean interrupted = Thread.interrupted();
		try {
			Waiter waiter = this.engine.acquire(demand, Thread.currentThread());
			while (true) {
				try {
					return await(waiter);
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

	private L await(Waiter waiter) throws InterruptedException {
		long left = Math.max(waiter.demand.waitNanos(), LeaseEngine.FIRST_ANSWER_NANOS) - waiter.waitedNanos() + SLACK;
		try {
			return this.type.apply(waiter.result.get(left, TimeUnit.NANOSECONDS));
		}
		catch (ExecutionException ex) {
			throw rethrown(ex);
		}
		catch (TimeoutException ex) {
			// The engine's own timer is late: this thread is not.
			this.engine.abandon(waiter, Failures.storeTrouble(waiter, null));
			try {
				return this.type.apply(waiter.result.join());
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

	CompletableFuture<L> acquireAsync(Demand demand) {
		return start(demand, this.type, (error) -> null);
	}

	CompletableFuture<Optional<L>> tryAcquireAsync(Demand demand) {
		return start(demand, (lease) -> Optional.of(this.type.apply(lease)),
				(error) -> (error instanceof NotAcquiredException ex && ex.getReason() == Reason.TIMED_OUT)
						? Optional.empty() : null);
	}

	/**
	 * A future for users: what they do to it ends the wait, and what comes too late is
	 * released.
	 */
	private <T> CompletableFuture<T> start(Demand demand, Function<HeldLease, T> success,
			Function<Throwable, @Nullable T> instead) {
		Waiter waiter = this.engine.acquire(demand, null);
		CompletableFuture<T> face = new CompletableFuture<>();
		waiter.result.whenCompleteAsync((lease, error) -> {
			T failed = (error != null) ? instead.apply(error) : null;
			if (failed != null) {
				face.complete(failed);
			}
			else if (error != null) {
				face.completeExceptionally(error);
			}
			else if (!face.complete(success.apply(lease))) {
				lease.releaseAsync();
			}
		}, this.engine.callbacks);
		face.whenComplete((result, error) -> {
			if (!waiter.result.isDone()) {
				// Cancelled, or completed by its user.
				this.engine.abandon(waiter, Failures.notAcquired(waiter, Reason.INTERRUPTED));
			}
		});
		return face;
	}

}
