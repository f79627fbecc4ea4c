package io.holdfast;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * Grants leases of permits of counting semaphores to all instances that share a store.
 * The permits of all instances together never exceed the semaphore's limit. Thread-safe.
 *
 * <p>
 * A semaphore exists in the store only while it is in use. Each request carries the
 * limit. A limit that an operator {@linkplain SemaphoreAdmin#setLimit sets} replaces the
 * limits of all requests. If requests have different limits, for example while a new
 * version is rolled out, each request is granted or refused by its own limit.
 *
 * <p>
 * {@code acquire} throws an exception if the permits were not acquired.
 * {@code tryAcquire} returns an empty {@link Optional} if not enough permits were free
 * within the wait time. By default, requests do <em>not</em> wait: see
 * {@link SemaphoreRequest#waitTime}. A failure of the store is always a
 * {@link LeaseStoreException}. No call blocks longer than its wait time, even if the
 * store does not answer. Exception: a call with a wait time below 250 ms gives the store
 * a bounded time for its first answer.
 *
 * <p>
 * Permits are not re-entrant: each request acquires further permits. A thread that is
 * interrupted before or while it waits gets a {@link PermitNotAcquiredException} with the
 * reason {@link NotAcquiredException.Reason#INTERRUPTED INTERRUPTED}. Its interrupt flag
 * is set again, and its request is removed from the store.
 *
 * @since 0.1.0
 */
public interface SemaphoreService {

	/**
	 * Acquire permits. Blocks for the request's wait time at most.
	 * @param request the semaphore, the number of permits and options
	 * @return the lease of all requested permits
	 * @throws PermitNotAcquiredException if the permits were not acquired
	 * @throws LeaseStoreException if the store failed
	 */
	PermitLease acquire(SemaphoreRequest request);

	/**
	 * Try to acquire permits. Blocks for the request's wait time at most. Tries once if
	 * the request has no wait time; the default wait time does not apply.
	 * @param request the semaphore, the number of permits and options
	 * @return the lease of all requested permits, or empty if not enough permits were
	 * free within the wait time
	 * @throws PermitNotAcquiredException if this thread was interrupted, if too many
	 * requests wait, if this instance is shutting down, or if the request is for more
	 * permits than the limit
	 * @throws LeaseStoreException if the store failed
	 */
	Optional<PermitLease> tryAcquire(SemaphoreRequest request);

	/**
	 * Acquire permits without blocking. Cancelling the future, or completing it in
	 * another way, ends the wait. Permits that are granted all the same are released.
	 * Once the future is completed with a lease, cancelling has no effect, and the caller
	 * must release the lease.
	 * @param request the semaphore, the number of permits and options
	 * @return a future of the lease, which fails with the exceptions of
	 * {@link #acquire(SemaphoreRequest)}. Continuations run on a Holdfast thread and may
	 * block
	 */
	CompletableFuture<PermitLease> acquireAsync(SemaphoreRequest request);

	/**
	 * Try to acquire permits without blocking. Tries once if the request has no wait
	 * time. Cancellation and continuations are as in
	 * {@link #acquireAsync(SemaphoreRequest)}.
	 * @param request the semaphore, the number of permits and options
	 * @return a future of the lease, empty if not enough permits were free within the
	 * wait time. The future fails with the exceptions of
	 * {@link #tryAcquire(SemaphoreRequest)}
	 */
	CompletableFuture<Optional<PermitLease>> tryAcquireAsync(SemaphoreRequest request);

	/**
	 * Run code with permits: acquire the permits, run the code on this thread, and
	 * release the permits, also if the code fails. Within a transaction, the permits are
	 * released after the code, not after the transaction. Blocks for the request's wait
	 * time at most, and while the code runs.
	 * <p>
	 * While the code runs, {@link PermitLease#current()} returns its lease. If the lease
	 * is lost, a warning is logged and a {@link LeaseLostEvent} is published. The code
	 * goes on, and its value is returned. Code that must stop on a loss calls
	 * {@link PermitLease#ensureHeld()}. The permits are released by
	 * {@link PermitLease#close()}, without waiting for the store.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request the semaphore, the number of permits and options
	 * @param call the code
	 * @return the code's value
	 * @throws E of the code
	 * @throws PermitNotAcquiredException if the permits were not acquired; the code has
	 * not run
	 * @throws LeaseStoreException if the store failed; the code has not run
	 */
	default <T extends @Nullable Object, E extends Throwable> T withPermits(SemaphoreRequest request,
			LeasedCall<T, E> call) throws E {
		return LeasedCalls.call(acquire(request.forCode()), false, call);
	}

	/**
	 * Run code that returns nothing with permits. Otherwise as
	 * {@link #withPermits(SemaphoreRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param request the semaphore, the number of permits and options
	 * @param action the code
	 * @throws E of the code
	 */
	default <E extends Throwable> void withPermits(SemaphoreRequest request, LeasedAction<E> action) throws E {
		withPermits(request, LeasedCalls.callOf(action));
	}

	/**
	 * Run code with permits if {@link #tryAcquire(SemaphoreRequest)} acquires the
	 * permits. Runs and releases as {@link #withPermits(SemaphoreRequest, LeasedCall)}
	 * does.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request the semaphore, the number of permits and options
	 * @param call the code
	 * @return the code's value, or {@link LeasedResult#notAcquired()} if not enough
	 * permits were free
	 * @throws E of the code
	 * @throws PermitNotAcquiredException as by {@link #tryAcquire(SemaphoreRequest)}; the
	 * code has not run
	 * @throws LeaseStoreException if the store failed; the code has not run
	 */
	default <T extends @Nullable Object, E extends Throwable> LeasedResult<T> tryWithPermits(SemaphoreRequest request,
			LeasedCall<T, E> call) throws E {
		return LeasedCalls.callIfAcquired(tryAcquire(request.forCode()), false, call);
	}

	/**
	 * Run code that returns nothing with permits if the permits can be acquired.
	 * Otherwise as {@link #tryWithPermits(SemaphoreRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param request the semaphore, the number of permits and options
	 * @param action the code
	 * @return whether the code has run
	 * @throws E of the code
	 */
	default <E extends Throwable> boolean tryWithPermits(SemaphoreRequest request, LeasedAction<E> action) throws E {
		return tryWithPermits(request, LeasedCalls.callOf(action)).isAcquired();
	}

	/**
	 * Run asynchronous code with permits. The permits are held until the code's stage is
	 * completed. Does not block. The code is called on a Holdfast thread and may block.
	 * It runs within the caller's {@link LeaseContext} with the new lease added.
	 * Cancelling the future, or completing it in another way, ends the wait for the
	 * permits. Code that has begun goes on, and keeps the permits.
	 * @param <T> the type of the code's value
	 * @param request the semaphore, the number of permits and options
	 * @param code the code
	 * @return a future of the code's value, completed after the release was sent as by
	 * {@link PermitLease#close()}. The future fails with the code's exception, or with
	 * those of {@link #acquire(SemaphoreRequest)}
	 */
	default <T extends @Nullable Object> CompletableFuture<T> withPermitsAsync(SemaphoreRequest request,
			Supplier<? extends CompletionStage<T>> code) {
		return AsyncLeasedCall.always(code, false, acquireAsync(request.forCode()));
	}

	/**
	 * Run asynchronous code with permits if {@link #tryAcquireAsync(SemaphoreRequest)}
	 * acquires the permits. Otherwise as
	 * {@link #withPermitsAsync(SemaphoreRequest, Supplier)}.
	 * @param <T> the type of the code's value
	 * @param request the semaphore, the number of permits and options
	 * @param code the code
	 * @return a future of the code's value, or of {@link LeasedResult#notAcquired()} if
	 * not enough permits were free
	 */
	default <T extends @Nullable Object> CompletableFuture<LeasedResult<T>> tryWithPermitsAsync(
			SemaphoreRequest request, Supplier<? extends CompletionStage<T>> code) {
		return AsyncLeasedCall.ifAcquired(code, false, tryAcquireAsync(request.forCode()));
	}

	/**
	 * Return the status of a semaphore in the store now. Blocks until the store answers.
	 * @param key the key of the semaphore
	 * @return the status
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	SemaphoreStatus status(String key);

	/**
	 * Return the administrative operations on this service's semaphores.
	 * @return the administrative operations
	 */
	SemaphoreAdmin admin();

}
