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
import java.util.function.Supplier;

import io.holdfast.HoldfastException;
import io.holdfast.KeyNamespace;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseRequest;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.CallResult;
import io.holdfast.async.EngineFuture;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * Requests and operators' commands that locks and permits have in common. The services
 * declare their public methods themselves: pointcuts match no inherited generic methods.
 * Thread-safe.
 *
 * @param <R> the type of the requests
 * @param <L> the type of the leases in the API
 */
abstract class EngineService<R extends LeaseRequest<R>, L extends Lease> {

	/**
	 * Time after its deadline at which a blocked call ends its wait itself, in
	 * nanoseconds.
	 */
	private static final long SLACK = TimeUnit.MILLISECONDS.toNanos(150);

	/**
	 * Maximum number of leases per forced release, so that one script does not block the
	 * store for long.
	 */
	private static final int BATCH = 1000;

	final LeaseEngine engine;

	final EngineContext context;

	private final ResourceQueues queues;

	private final ResolvedRequest defaults;

	private final Class<L> type;

	/** Namespace of requests that have none, or {@code null} for that of the engine. */
	private volatile @Nullable KeyNamespace namespace;

	/**
	 * Create a service.
	 * @param kind the kind of resource
	 * @param type the type of the leases
	 */
	EngineService(LeaseEngine engine, Kind kind, Class<L> type) {
		this.engine = engine;
		this.context = engine.context;
		this.queues = engine.queues;
		this.defaults = ResolvedRequest.defaults(kind, engine.context.settings);
		this.type = type;
	}

	/**
	 * Set the namespace of requests that have none, in place of the engine's namespace.
	 * @param namespace the namespace
	 */
	public void setKeyNamespace(KeyNamespace namespace) {
		this.namespace = namespace;
	}

	/** Return a request in the current namespace. */
	R named(R request) {
		KeyNamespace own = this.namespace;
		KeyNamespace namespace = (own != null) ? own : this.engine.keyNamespace;
		return (namespace != null) ? namespace.apply(request) : request;
	}

	private List<ResolvedRequest> resolve(R request) {
		return ResolvedRequest.of(named(request), this.defaults);
	}

	/**
	 * Return the lease context of a request, or the given one if the request has none.
	 */
	private static LeaseContext context(LeaseRequest<?> request, Supplier<LeaseContext> otherwise) {
		LeaseContext context = (request instanceof LockRequest lock) ? lock.context() : null;
		return (context != null) ? context : otherwise.get();
	}

	/**
	 * Acquire a lease for the current thread. An interrupt ends the wait with a
	 * {@link NotAcquiredException}.
	 */
	L acquire(R request) {
		if (Thread.currentThread().isInterrupted()) {
			throw EngineExceptions.notAcquired(resolve(request).get(0), Reason.INTERRUPTED, 0,
					new InterruptedException());
		}
		PendingAcquisition<?> acquisition = start(request);
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
			if (isTimeout(ex)) {
				return Optional.empty();
			}
			throw ex;
		}
	}

	private static boolean isTimeout(@Nullable Throwable error) {
		return error instanceof NotAcquiredException ex && ex.getReason() == Reason.TIMED_OUT;
	}

	/**
	 * Acquire as {@link #acquire} does, but throw an {@link InterruptedException} on an
	 * interrupt.
	 */
	L await(R request) throws InterruptedException {
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
			PendingAcquisition<?> acquisition = start(request);
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

	private PendingAcquisition<?> start(R request) {
		return this.queues.acquire(resolve(request), Thread.currentThread(), context(request, LeaseContext::current));
	}

	private L await(PendingAcquisition<?> acquisition) throws InterruptedException {
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

	private void awaitEnd(PendingAcquisition<?> acquisition) throws InterruptedException {
		try {
			this.context.scheduler.waitUntil(acquisition.result, acquisition.endsAt() + SLACK);
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
	private static void giveUp(PendingAcquisition<?> acquisition) {
		acquisition.interrupt(null);
		acquisition.result.thenAccept(Lease::discardAsync);
		tellObservers(acquisition, true);
	}

	/** Return the lease of an ended wait, or throw the exception of the failure. */
	private L outcome(PendingAcquisition<?> acquisition) {
		try {
			return this.type.cast(BlockingWait.join(acquisition.result));
		}
		catch (CompletionException ex) {
			throw rethrown(ex);
		}
		finally {
			tellObservers(acquisition, true);
		}
	}

	/** Notify the observers of the outcome, before the user continues. */
	private static void tellObservers(PendingAcquisition<?> acquisition, boolean blocking) {
		RequestObservation observing = acquisition.observation;
		if (observing != null) {
			observing.settled(acquisition.result, blocking);
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
		return startAsync(request, this.type::cast, null);
	}

	/** Acquire as {@link #tryAcquire} does, without blocking. */
	CompletableFuture<Optional<L>> tryAcquireAsync(R request) {
		return startAsync(onceByDefault(request), (lease) -> Optional.of(this.type.cast(lease)), Optional.empty());
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
	 * @param ifTimedOut the user's result after a timeout, or {@code null} for an
	 * exception
	 * @return the user's future. If the user completes or cancels it, the wait ends, and
	 * a lease that is granted later is released
	 */
	private <T> CompletableFuture<T> startAsync(R request, Function<Lease, T> success, @Nullable T ifTimedOut) {
		PendingAcquisition<?> acquisition = this.queues.acquire(resolve(request), null,
				context(request, LeaseContext::empty));
		CompletableFuture<T> userFuture = new EngineFuture<>(this.context.code);
		acquisition.result.whenCompleteAsync((lease, error) -> {
			tellObservers(acquisition, false);
			if (ifTimedOut != null && isTimeout(error)) {
				userFuture.complete(ifTimedOut);
			}
			else if (error != null) {
				userFuture.completeExceptionally(error);
			}
			else if (!userFuture.complete(success.apply(lease))) {
				lease.discardAsync();
			}
		}, this.context.code);
		userFuture.whenComplete((result, error) -> {
			if (!acquisition.result.isDone()) {
				acquisition.interrupt(null);
			}
		});
		return userFuture;
	}

	// Operators' commands. Each blocks until the store answers.

	/** Return the state of a resource, after the releases under way. */
	Standing stateAfterReleases(Resource resource) {
		return answer(this.queues.releases.firstAnswers(resource)
			.thenCompose((released) -> this.context.inspect(resource, 0, 0)), resource);
	}

	/** Return the state of a resource before a forced release. */
	Standing state(Resource resource, int maxHolders) {
		return this.context.awaitAnswer(this.context.inspect(resource, maxHolders, 0), resource, "The forced release");
	}

	/** Return the number of requests of this instance that wait for a resource. */
	int waitingHere(Resource resource) {
		return answer(this.queues.waiting(resource), resource);
	}

	private <T> T answer(CompletableFuture<T> inspection, Resource resource) {
		return this.context.awaitAnswer(inspection, resource, "The inspection");
	}

	/**
	 * Release all holders of a semaphore, or all readers of a lock. Does not release
	 * waiters that are granted during the release.
	 * @return the number of released holders
	 */
	int releaseAll(Resource resource) {
		// Read all holders before the first release, as each release admits waiters.
		Standing standing = state(resource, Integer.MAX_VALUE);
		if (standing.owner() != null) {
			return 0;
		}
		List<String> tokens = standing.holders().stream().map(TokenState::token).filter(Tokens::isToken).toList();
		int count = 0;
		for (int from = 0; from < tokens.size(); from += BATCH) {
			count += release(resource, tokens.subList(from, Math.min(from + BATCH, tokens.size())));
		}
		return count;
	}

	/**
	 * Release tokens by force.
	 * @return the number of tokens that held anything
	 */
	int release(Resource resource, List<String> tokens) {
		CompletableFuture<List<Boolean>> answer = new CompletableFuture<>();
		this.queues.releases.beginEnding(tokens);
		// End the holds first: other owners may get the leases as soon as the command
		// runs.
		this.queues.renewer.loseBefore(tokens, LeaseRenewer.FORCED,
				() -> this.context.sendInTime(Command.RELEASE, () -> this.context.store.force(resource, tokens))
					.whenComplete((forced, error) -> {
						this.queues.releases.finishEnding(tokens);
						CallResult.complete(answer, forced, error);
					}));
		List<Boolean> released = this.context.awaitAnswerToChange(answer, resource, "The forced release");
		int count = 0;
		for (int i = 0; i < tokens.size(); i++) {
			if (released.get(i)) {
				// The token may belong to a waiter of this instance that was granted the
				// lease during the release.
				this.queues.renewer.onTokenLost(tokens.get(i), LeaseRenewer.FORCED);
				count++;
			}
		}
		return count;
	}

}
