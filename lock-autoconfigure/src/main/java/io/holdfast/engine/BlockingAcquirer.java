package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseRequest;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.EngineFuture;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Acquires leases of locks or permits, blocking or asynchronously. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param <L> the type of the leases in the API
 */
class BlockingAcquirer<R extends LeaseRequest<R>, L extends Lease> {

	/**
	 * Time after its deadline at which a blocked call ends its wait itself, in
	 * nanoseconds.
	 */
	private static final long SLACK = TimeUnit.MILLISECONDS.toNanos(150);

	private final EngineContext context;

	private final ResourceQueues queues;

	private final Function<R, List<ResolvedRequest>> resolver;

	/** Returns the context of a request, or {@code null} if the request has none. */
	private final Function<R, @Nullable LeaseContext> contexts;

	private final Class<L> type;

	private BlockingAcquirer(ResourceQueues queues, Function<R, List<ResolvedRequest>> resolver,
			Function<R, @Nullable LeaseContext> contexts, Class<L> type) {
		this.context = queues.context;
		this.queues = queues;
		this.resolver = resolver;
		this.contexts = contexts;
		this.type = type;
	}

	/** Create a copy of an acquirer, for subclasses. */
	BlockingAcquirer(BlockingAcquirer<R, L> other) {
		this(other.queues, other.resolver, other.contexts, other.type);
	}

	/** Create an acquirer of locks. */
	static BlockingAcquirer<LockRequest, LockLease> ofLocks(ResourceQueues queues) {
		ResolvedRequest defaults = ResolvedRequest.defaults(Kind.LOCK, queues.context.settings);
		return new BlockingAcquirer<>(queues, (request) -> ResolvedRequest.of(request, defaults), LockRequest::context,
				LockLease.class);
	}

	/** Create an acquirer of permits. */
	static BlockingAcquirer<SemaphoreRequest, PermitLease> ofPermits(ResourceQueues queues) {
		ResolvedRequest defaults = ResolvedRequest.defaults(Kind.SEMAPHORE, queues.context.settings);
		return new BlockingAcquirer<>(queues, (request) -> List.of(ResolvedRequest.of(request, defaults)),
				(request) -> null, PermitLease.class);
	}

	/**
	 * Acquire a lease for the current thread. An interrupt ends the wait with a
	 * {@link NotAcquiredException}.
	 */
	L acquire(R request) {
		if (Thread.currentThread().isInterrupted()) {
			throw EngineExceptions.notAcquired(this.resolver.apply(request).get(0), Reason.INTERRUPTED, 0,
					new InterruptedException());
		}
		PendingAcquisition acquisition = start(request);
		try {
			return await(acquisition);
		}
		catch (InterruptedException ex) {
			acquisition.interrupt(ex);
			Thread.currentThread().interrupt();
			// The lease may have been granted just before the interrupt.
			return outcome(acquisition);
		}
	}

	/**
	 * Acquire as {@link #acquire} does, but without waiting by default. Returns empty on
	 * a timeout.
	 */
	Optional<L> tryAcquire(R request) {
		try {
			return Optional.of(acquire(onceByDefault(request)));
		}
		catch (NotAcquiredException ex) {
			if (ex.getReason() == Reason.TIMED_OUT) {
				return Optional.empty();
			}
			throw ex;
		}
	}

	/**
	 * Acquire as {@link #acquire} does, but throw an {@link InterruptedException} on an
	 * interrupt.
	 */
	protected L await(R request) throws InterruptedException {
		try {
			return acquire(request);
		}
		catch (HoldfastException ex) {
			if (Thread.interrupted()) {
				throw new InterruptedException();
			}
			throw ex;
		}
	}

	/**
	 * Acquire a lease for the current thread, ignoring interrupts. The thread's interrupt
	 * flag is kept.
	 */
	L awaitUninterruptibly(R request) {
		boolean interrupted = Thread.interrupted();
		try {
			PendingAcquisition acquisition = start(request);
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

	private PendingAcquisition start(R request) {
		LeaseContext context = this.contexts.apply(request);
		return this.queues.acquire(this.resolver.apply(request), Thread.currentThread(),
				(context != null) ? context : LeaseContext.current());
	}

	private L await(PendingAcquisition acquisition) throws InterruptedException {
		try {
			awaitEnd(acquisition);
		}
		catch (InterruptedException ex) {
			// The caller decides whether to go on waiting.
			throw ex;
		}
		catch (Throwable ex) {
			giveUp(acquisition);
			throw ex;
		}
		return outcome(acquisition);
	}

	private void awaitEnd(PendingAcquisition acquisition) throws InterruptedException {
		try {
			this.context.scheduler.waitUntil(acquisition.result(), acquisition.endsAt() + SLACK);
		}
		catch (ExecutionException ex) {
			// The caller gets the failure from the acquisition's result.
		}
		catch (TimeoutException ex) {
			// The engine's timer is late: this thread ends the wait itself.
			acquisition.endOverdue();
		}
	}

	/**
	 * End the wait of a thread that has failed, and release a lease that is granted all
	 * the same.
	 */
	private static void giveUp(PendingAcquisition acquisition) {
		acquisition.interrupt(null);
		acquisition.result().thenAccept(Lease::discardAsync);
		tellObservers(acquisition, true);
	}

	/** Return the lease of an ended wait, or throw the exception of the failure. */
	private L outcome(PendingAcquisition acquisition) {
		try {
			return this.type.cast(BlockingWait.join(acquisition.result()));
		}
		catch (CompletionException ex) {
			throw rethrown(ex);
		}
		finally {
			tellObservers(acquisition, true);
		}
	}

	/** Notify the observers of the outcome, before the user continues. */
	private static void tellObservers(PendingAcquisition acquisition, boolean blocking) {
		RequestObservation observing = acquisition.observation();
		if (observing != null) {
			observing.settled(acquisition.result(), blocking);
		}
	}

	/**
	 * Return the engine's exception, with the stack trace of the calling thread.
	 */
	private static RuntimeException rethrown(Exception ex) {
		if (ex.getCause() instanceof RuntimeException cause) {
			cause.setStackTrace(new Throwable().getStackTrace());
			return cause;
		}
		return new IllegalStateException(ex);
	}

	/** Acquire a lease without blocking. Cancelling the future ends the wait. */
	CompletableFuture<L> acquireAsync(R request) {
		return startAsync(request, this.type::cast, (error) -> null);
	}

	/** Acquire as {@link #tryAcquire} does, without blocking. */
	CompletableFuture<Optional<L>> tryAcquireAsync(R request) {
		return startAsync(onceByDefault(request), (lease) -> Optional.of(this.type.cast(lease)),
				(error) -> (error instanceof NotAcquiredException ex && ex.getReason() == Reason.TIMED_OUT)
						? Optional.empty() : null);
	}

	/** Return the request with a wait time of zero if it has no wait time. */
	private R onceByDefault(R request) {
		Duration wait = request.waitTime();
		return (wait == null || wait.isZero()) ? once(request) : request;
	}

	/** Return the request with a wait time of zero, and optional. */
	static <R extends LeaseRequest<R>> R once(R request) {
		return request.waitTime(Duration.ZERO).optional();
	}

	/**
	 * Start an acquisition that belongs to no thread.
	 * @param success converts the lease into the user's result
	 * @param fallback converts an error into the user's result, or returns {@code null}
	 * to fail the user's future with the error
	 * @return the user's future. If the user completes or cancels it, the wait ends, and
	 * a lease that is granted later is released
	 */
	private <T> CompletableFuture<T> startAsync(R request, Function<Lease, T> success,
			Function<Throwable, @Nullable T> fallback) {
		LeaseContext context = this.contexts.apply(request);
		PendingAcquisition acquisition = this.queues.acquire(this.resolver.apply(request), null,
				(context != null) ? context : LeaseContext.empty());
		CompletableFuture<T> userFuture = new EngineFuture<>(this.context::executeCode);
		acquisition.result().whenCompleteAsync((lease, error) -> {
			tellObservers(acquisition, false);
			T fallbackResult = (error != null) ? fallback.apply(error) : null;
			if (fallbackResult != null) {
				userFuture.complete(fallbackResult);
			}
			else if (error != null) {
				userFuture.completeExceptionally(error);
			}
			else if (!userFuture.complete(success.apply(lease))) {
				lease.discardAsync();
			}
		}, this.context::executeCode);
		userFuture.whenComplete((result, error) -> {
			if (!acquisition.result().isDone()) {
				acquisition.interrupt(null);
			}
		});
		return userFuture;
	}

}
