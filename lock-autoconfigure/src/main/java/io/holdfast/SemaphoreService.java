package io.holdfast;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * Grants leased permits of counting semaphores, over all instances that share a store: at
 * no moment more than a semaphore's limit. Thread-safe.
 *
 * <p>
 * A semaphore is there as soon as it is used, and gone when it is used no more. Its limit
 * comes with each request; one that an operator {@linkplain SemaphoreAdmin#setLimit sets}
 * comes before it. Of requests with different limits (while a new version is rolled out)
 * each is judged by its own.
 *
 * <p>
 * {@code acquire} throws if the permits were not acquired; {@code tryAcquire} returns an
 * empty {@link Optional} if not enough of them were free until the wait time was over.
 * Waiting is <em>not</em> the default: see {@link SemaphoreRequest#waitTime}. Trouble
 * with the store is a {@link LeaseStoreException} in both. No call blocks past its wait
 * time, also when the store does not answer; a call that does not wait, or for less than
 * 250 ms, allows the store a bounded time for its first answer.
 *
 * <p>
 * Permits are not re-entrant: a caller that asks twice holds twice. A thread that is
 * interrupted while it waits gets a {@link PermitNotAcquiredException} of reason
 * {@link NotAcquiredException.Reason#INTERRUPTED INTERRUPTED}; its interrupt flag is set
 * again, and nothing stays in the store.
 *
 * @since 0.1.0
 */
public interface SemaphoreService {

	/**
	 * Acquire permits. Blocks for the request's wait time at most.
	 * @param request which, how many, and how
	 * @return the lease of all of them
	 * @throws PermitNotAcquiredException if they were not acquired
	 * @throws LeaseStoreException if the store failed
	 */
	PermitLease acquire(SemaphoreRequest request);

	/**
	 * Try to acquire permits. Blocks for the request's wait time at most; if that has
	 * none, tries once; the default wait time does not count.
	 * @param request which, how many, and how
	 * @return the lease of all of them, or empty if not enough were free until the wait
	 * time was over
	 * @throws PermitNotAcquiredException if this thread was interrupted, this instance is
	 * shutting down, or more permits were asked for than there are
	 * @throws LeaseStoreException if the store failed
	 */
	Optional<PermitLease> tryAcquire(SemaphoreRequest request);

	/**
	 * Acquire permits without blocking. Cancelling the future, or completing it
	 * otherwise, ends the wait; permits that are granted nevertheless are released. When
	 * the future has its lease, that is the caller's to release, and cancelling does
	 * nothing.
	 * @param request which, how many, and how
	 * @return the lease to come; fails as {@link #acquire(SemaphoreRequest)} throws.
	 * Continuations run on a thread of Holdfast's that may block
	 */
	CompletableFuture<PermitLease> acquireAsync(SemaphoreRequest request);

	/**
	 * Try to acquire permits without blocking; once, if the request has no wait time.
	 * @param request which, how many, and how
	 * @return the lease to come, or empty if not enough permits were free until the wait
	 * time was over; otherwise as {@link #acquireAsync(SemaphoreRequest)}
	 */
	CompletableFuture<Optional<PermitLease>> tryAcquireAsync(SemaphoreRequest request);

	/**
	 * Run code with permits: acquire them, run the code on this thread, and release them,
	 * however the code ends, also inside of a transaction. Blocks for the request's wait
	 * time at most, and for the code.
	 * <p>
	 * While the code runs, {@link PermitLease#current()} is its lease. If that is lost, a
	 * warning is logged and a {@link LeaseLostEvent} published; the code goes on, and its
	 * value is the caller's. To notice it, call {@link PermitLease#ensureHeld()}. The
	 * permits are released as by {@link PermitLease#close()}, which does not wait for the
	 * store.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request which, how many, and how
	 * @param call the code
	 * @return the code's value
	 * @throws E of the code
	 * @throws PermitNotAcquiredException if they were not acquired; the code has not run
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
	 * @param request which, how many, and how
	 * @param action the code
	 * @throws E of the code
	 */
	default <E extends Throwable> void withPermits(SemaphoreRequest request, LeasedAction<E> action) throws E {
		LeasedCalls.run(acquire(request.forCode()), false, action);
	}

	/**
	 * Run code with permits if they can be acquired as
	 * {@link #tryAcquire(SemaphoreRequest)} does. Otherwise as
	 * {@link #withPermits(SemaphoreRequest, LeasedCall)}.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request which, how many, and how
	 * @param call the code
	 * @return the code's value, or that it has not run because not enough were free
	 * @throws E of the code
	 * @throws PermitNotAcquiredException if this thread was interrupted, this instance is
	 * shutting down, or more permits were asked for than there are; the code has not run
	 * @throws LeaseStoreException if the store failed; the code has not run
	 */
	default <T extends @Nullable Object, E extends Throwable> LeasedResult<T> tryWithPermits(SemaphoreRequest request,
			LeasedCall<T, E> call) throws E {
		return LeasedCalls.callIfAcquired(tryAcquire(request.forCode()), false, call);
	}

	/**
	 * Run code that returns nothing with permits if they can be acquired. Otherwise as
	 * {@link #tryWithPermits(SemaphoreRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param request which, how many, and how
	 * @param action the code
	 * @return whether the code has run
	 * @throws E of the code
	 */
	default <E extends Throwable> boolean tryWithPermits(SemaphoreRequest request, LeasedAction<E> action) throws E {
		return LeasedCalls.runIfAcquired(tryAcquire(request.forCode()), false, action);
	}

	/**
	 * Run asynchronous code with permits, which are held until the code's stage is
	 * completed. Does not block. The code is called on a thread of Holdfast's that may
	 * block, within the caller's {@link LeaseContext} and the lease. Cancelling the
	 * future, or completing it otherwise, ends the wait. Code that has begun goes on, and
	 * keeps the permits.
	 * @param <T> the type of the code's value
	 * @param request which, how many, and how
	 * @param code the code
	 * @return the code's value to come, when the release was sent, as by
	 * {@link PermitLease#close()}; fails as the code does, or as
	 * {@link #acquire(SemaphoreRequest)} throws
	 */
	default <T extends @Nullable Object> CompletableFuture<T> withPermitsAsync(SemaphoreRequest request,
			Supplier<? extends CompletionStage<T>> code) {
		return AsyncLeasedCall.always(code, false, acquireAsync(request.forCode()));
	}

	/**
	 * Run asynchronous code with permits if they can be acquired as
	 * {@link #tryAcquire(SemaphoreRequest)} does. Otherwise as
	 * {@link #withPermitsAsync(SemaphoreRequest, Supplier)}.
	 * @param <T> the type of the code's value
	 * @param request which, how many, and how
	 * @param code the code
	 * @return the code's value to come, or that it has not run because not enough permits
	 * were free
	 */
	default <T extends @Nullable Object> CompletableFuture<LeasedResult<T>> tryWithPermitsAsync(
			SemaphoreRequest request, Supplier<? extends CompletionStage<T>> code) {
		return AsyncLeasedCall.ifAcquired(code, false, tryAcquireAsync(request.forCode()));
	}

	/**
	 * Return the status of a semaphore in the store now. Blocks until the store answers.
	 * @param key which semaphore
	 * @return its status
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	SemaphoreStatus status(String key);

	/**
	 * Return the administrators' calls on semaphores of this service.
	 * @return the administrators' calls
	 */
	SemaphoreAdmin admin();

}
