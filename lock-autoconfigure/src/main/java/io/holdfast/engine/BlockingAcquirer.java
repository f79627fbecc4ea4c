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
 * The blocking and the asynchronous way to a lease, the same for locks and permits.
 * Thread-safe.
 *
 * @param <R> the type of the requests
 * @param <L> the type of the leases, as their users know them
 */
class BlockingAcquirer<R extends LeaseRequest<R>, L extends Lease> {

	/** How much later than its deadline a blocked call looks after itself. */
	private static final long SLACK = TimeUnit.MILLISECONDS.toNanos(150);

	private final EngineContext context;

	private final ResourceQueues queues;

	private final Function<R, List<ResolvedRequest>> resolver;

	/** Tells under which leases a request asks, or {@code null} if it does not say. */
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

	/** Create an acquirer that acquires as another one does, to be extended. */
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

	/** Acquire for the current thread; an interrupt ends the wait by an exception. */
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
			// It may have been granted just before.
			return outcome(acquisition);
		}
	}

	/**
	 * Acquire as {@link #acquire} does, without waiting by default; empty if others held
	 * it for too long.
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

	/** Acquire as {@link #acquire} does, with an interrupt as an exception of its own. */
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
	 * Acquire for the current thread, interrupted or not; its interrupt flag is kept.
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
			// The caller decides whether to go on.
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
			// The outcome tells.
		}
		catch (TimeoutException ex) {
			// The engine's own timer is late: this thread is not.
			acquisition.endOverdue();
		}
	}

	/** End the wait of a thread that cannot take the lease, and release the lease. */
	private static void giveUp(PendingAcquisition acquisition) {
		acquisition.interrupt(null);
		acquisition.result().thenAccept(Lease::discardAsync);
		tellObservers(acquisition, true);
	}

	/** Return the lease of a wait that has ended, or throw why there is none. */
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

	/** Tell the outcome, before the user goes on with it. */
	private static void tellObservers(PendingAcquisition acquisition, boolean blocking) {
		RequestObservation observing = acquisition.observation();
		if (observing != null) {
			observing.settled(acquisition.result(), blocking);
		}
	}

	/**
	 * Return the engine's exception, with the stack of the thread that it is thrown in.
	 */
	private static RuntimeException rethrown(Exception ex) {
		if (ex.getCause() instanceof RuntimeException cause) {
			cause.setStackTrace(new Throwable().getStackTrace());
			return cause;
		}
		return new IllegalStateException(ex);
	}

	/** Acquire without blocking; cancelling the future ends the wait. */
	CompletableFuture<L> acquireAsync(R request) {
		return startAsync(request, this.type::cast, (error) -> null);
	}

	/** Acquire as {@link #tryAcquire} does, without blocking. */
	CompletableFuture<Optional<L>> tryAcquireAsync(R request) {
		return startAsync(onceByDefault(request), (lease) -> Optional.of(this.type.cast(lease)),
				(error) -> (error instanceof NotAcquiredException ex && ex.getReason() == Reason.TIMED_OUT)
						? Optional.empty() : null);
	}

	/** Return a request that does not wait for the default wait time. */
	private R onceByDefault(R request) {
		Duration wait = request.waitTime();
		return (wait == null || wait.isZero()) ? once(request) : request;
	}

	/** Return a request that does not wait, whose caller goes on without the lease. */
	static <R extends LeaseRequest<R>> R once(R request) {
		return request.waitTime(Duration.ZERO).optional();
	}

	/**
	 * Start an acquisition for no thread.
	 * @param success turns the lease into the user's result
	 * @param fallback returns the user's result for an error, or {@code null} if the
	 * error is the result
	 * @return the user's future: if its user completes or cancels it, the wait ends, and
	 * a lease that comes too late is released
	 */
	private <T> CompletableFuture<T> startAsync(R request, Function<Lease, T> success,
			Function<Throwable, @Nullable T> fallback) {
		LeaseContext context = this.contexts.apply(request);
		PendingAcquisition acquisition = this.queues.acquire(this.resolver.apply(request), null,
				(context != null) ? context : LeaseContext.empty());
		CompletableFuture<T> userFuture = new EngineFuture<>(this.context::executeCode);
		acquisition.result().whenCompleteAsync((lease, error) -> {
			tellObservers(acquisition, false);
			T instead = (error != null) ? fallback.apply(error) : null;
			if (instead != null) {
				userFuture.complete(instead);
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
