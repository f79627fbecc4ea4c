package io.holdfast;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * Grants leased locks on keys, exclusive or for readers, over all instances that share a
 * store. Thread-safe.
 *
 * <p>
 * {@code acquire} waits, for the request's wait time or the default one, and throws if
 * the lock was not acquired. {@code tryAcquire} waits only if the request has a wait time
 * of its own, and returns an empty {@link Optional} if others held the key. Trouble with
 * the store is a {@link LeaseStoreException} in both, never "it is held by another
 * owner". No call blocks past its wait time, also when the store does not answer; a call
 * that does not wait, or for less than 250 ms, allows the store a bounded time for its
 * first answer.
 *
 * <p>
 * Inside of a transaction, code that releases its lease by itself does so before the
 * commit: others have the lock, and do not see its writes yet. Use
 * {@link #withLock(LockRequest, LeasedCall) withLock} there, which waits for the commit.
 *
 * <p>
 * Locks are re-entrant by thread: a thread that asks again for a key that it holds gets a
 * nested lease at once, with the same fencing token; the key is released with the last of
 * them. If the lease it holds was lost although it was to be renewed, the attempt fails
 * with {@link LeaseLostException} until that lease is released. Asynchronous requests
 * belong to no thread, and are nested only {@linkplain LockRequest#within within} a
 * {@link LeaseContext}.
 *
 * <p>
 * By its {@linkplain LockRequest#mode(LockMode) mode} a key is locked exclusively, or by
 * many readers. Both are served in one order, neighbouring readers together; exclusive
 * holders of one instance may follow each other for a moment. An exclusive holder that
 * asks to read gets a nested lease; a reader that asks for the key exclusively is
 * refused.
 *
 * <p>
 * A thread that is interrupted while it waits gets a {@link LockNotAcquiredException} of
 * reason {@link NotAcquiredException.Reason#INTERRUPTED INTERRUPTED}; its interrupt flag
 * is set again, and nothing stays in the store.
 *
 * @since 0.1.0
 */
public interface LockService {

	/**
	 * Acquire a lock with the defaults. Blocks for the default wait time at most.
	 * @param key the key to lock
	 * @return the lease
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LockNotAcquiredException if it was not acquired
	 * @throws LeaseLostException if this thread holds a lease of the key that was lost
	 * @throws LeaseStoreException if the store failed
	 */
	default LockLease acquire(String key) {
		return acquire(LockRequest.of(key));
	}

	/**
	 * Acquire a lock. Blocks for the request's wait time at most.
	 * @param request the keys to lock, and the terms
	 * @return the lease
	 * @throws LockNotAcquiredException if it was not acquired
	 * @throws LeaseLostException if this thread holds a lease of the key that was lost,
	 * or one of several keys was lost while the others were waited for
	 * @throws LeaseStoreException if the store failed
	 */
	LockLease acquire(LockRequest request);

	/**
	 * Try once to acquire a lock, without waiting for others.
	 * @param key the key to lock
	 * @return the lease, or empty if another owner holds the key
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LockNotAcquiredException if this thread was interrupted, or this instance
	 * is shutting down
	 * @throws LeaseLostException if this thread holds a lease of the key that was lost
	 * @throws LeaseStoreException if the store failed
	 */
	default Optional<LockLease> tryAcquire(String key) {
		return tryAcquire(LockRequest.of(key).waitTime(Duration.ZERO));
	}

	/**
	 * Try to acquire a lock. Blocks for the request's wait time at most; if that has
	 * none, tries once; the default wait time does not count.
	 * @param request the keys to lock, and the terms
	 * @return the lease, or empty if others held the key until the wait time was over
	 * @throws LockNotAcquiredException if this thread was interrupted, or this instance
	 * is shutting down
	 * @throws LeaseLostException if this thread holds a lease of the key that was lost,
	 * or one of several keys was lost while the others were waited for
	 * @throws LeaseStoreException if the store failed
	 */
	Optional<LockLease> tryAcquire(LockRequest request);

	/**
	 * Acquire a lock without blocking. Cancelling the future, or completing it otherwise,
	 * ends the wait; a lock that is granted nevertheless is released. When the future has
	 * its lease, that is the caller's to release, and cancelling does nothing: so a
	 * suspending function that {@code await()}s the future loses the lease if it is
	 * cancelled at the moment of the grant.
	 * @param request the keys to lock, and the terms
	 * @return the lease to come; fails as {@link #acquire(LockRequest)} throws.
	 * Continuations run on a thread of Holdfast's that may block
	 */
	CompletableFuture<LockLease> acquireAsync(LockRequest request);

	/**
	 * Try to acquire a lock without blocking, as {@link #acquireAsync(LockRequest)};
	 * once, if the request has no wait time.
	 * @param request the keys to lock, and the terms
	 * @return the lease to come, or empty if others held the key until the wait time was
	 * over; fails as {@link #tryAcquire(LockRequest)} throws
	 */
	CompletableFuture<Optional<LockLease>> tryAcquireAsync(LockRequest request);

	/**
	 * Run code with a lock, with the defaults. See
	 * {@link #withLock(LockRequest, LeasedCall)}.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param key the key to lock
	 * @param call the code
	 * @return the code's value
	 * @throws E of the code
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	default <T extends @Nullable Object, E extends Throwable> T withLock(String key, LeasedCall<T, E> call) throws E {
		return withLock(LockRequest.of(key), call);
	}

	/**
	 * Run code that returns nothing with a lock, with the defaults. See
	 * {@link #withLock(LockRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param key the key to lock
	 * @param action the code
	 * @throws E of the code
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	default <E extends Throwable> void withLock(String key, LeasedAction<E> action) throws E {
		withLock(LockRequest.of(key), action);
	}

	/**
	 * Run code with a lock: acquire it, run the code on this thread, and release the
	 * lock, however the code ends. Inside of a Spring transaction the lock is held until
	 * the transaction is completed, by commit or rollback, as others would not see its
	 * writes before. Blocks for the request's wait time at most, and for the code.
	 * <p>
	 * While the code runs, {@link LockLease#current()} is its lease. If that is lost, a
	 * warning is logged and a {@link LeaseLostEvent} published; the code goes on, and its
	 * value is the caller's. To notice it, call {@link LockLease#ensureHeld()}. The lock
	 * is released as by {@link LockLease#close()}, which does not wait for the store.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request the keys to lock, and the terms
	 * @param call the code
	 * @return the code's value
	 * @throws E of the code
	 * @throws LockNotAcquiredException if the lock was not acquired; the code has not run
	 * @throws LeaseLostException if this thread holds a lease of the key that was lost,
	 * or the request is {@linkplain LockRequest#fenced() fenced} and a database has
	 * refused a transaction of the code
	 * @throws LeaseStoreException if the store failed; the code has not run
	 */
	default <T extends @Nullable Object, E extends Throwable> T withLock(LockRequest request, LeasedCall<T, E> call)
			throws E {
		return LeasedCalls.call(acquire(request.withinCurrent().forCode()), true, call);
	}

	/**
	 * Run code that returns nothing with a lock. Otherwise as
	 * {@link #withLock(LockRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param request the keys to lock, and the terms
	 * @param action the code
	 * @throws E of the code
	 */
	default <E extends Throwable> void withLock(LockRequest request, LeasedAction<E> action) throws E {
		LeasedCalls.run(acquire(request.withinCurrent().forCode()), true, action);
	}

	/**
	 * Run code with a lock if no other owner holds the key now. See
	 * {@link #tryWithLock(LockRequest, LeasedCall)}.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param key the key to lock
	 * @param call the code
	 * @return the code's value, or that it has not run
	 * @throws E of the code
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	default <T extends @Nullable Object, E extends Throwable> LeasedResult<T> tryWithLock(String key,
			LeasedCall<T, E> call) throws E {
		return tryWithLock(LockRequest.of(key).waitTime(Duration.ZERO), call);
	}

	/**
	 * Run code that returns nothing with a lock if no other owner holds the key now. See
	 * {@link #tryWithLock(LockRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param key the key to lock
	 * @param action the code
	 * @return whether the code has run
	 * @throws E of the code
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	default <E extends Throwable> boolean tryWithLock(String key, LeasedAction<E> action) throws E {
		return tryWithLock(LockRequest.of(key).waitTime(Duration.ZERO), action);
	}

	/**
	 * Run code with a lock if that can be acquired as {@link #tryAcquire(LockRequest)}
	 * does. Otherwise as {@link #withLock(LockRequest, LeasedCall)}.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request the keys to lock, and the terms
	 * @param call the code
	 * @return the code's value, or that it has not run because others held the key
	 * @throws E of the code
	 * @throws LockNotAcquiredException if this thread was interrupted, or this instance
	 * is shutting down; the code has not run
	 * @throws LeaseStoreException if the store failed; the code has not run
	 */
	default <T extends @Nullable Object, E extends Throwable> LeasedResult<T> tryWithLock(LockRequest request,
			LeasedCall<T, E> call) throws E {
		return LeasedCalls.callIfAcquired(tryAcquire(request.withinCurrent().forCode()), true, call);
	}

	/**
	 * Run code that returns nothing with a lock if that can be acquired. Otherwise as
	 * {@link #tryWithLock(LockRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param request the keys to lock, and the terms
	 * @param action the code
	 * @return whether the code has run
	 * @throws E of the code
	 */
	default <E extends Throwable> boolean tryWithLock(LockRequest request, LeasedAction<E> action) throws E {
		return LeasedCalls.runIfAcquired(tryAcquire(request.withinCurrent().forCode()), true, action);
	}

	/**
	 * Run asynchronous code with a lock, with the defaults. See
	 * {@link #withLockAsync(LockRequest, Supplier)}.
	 * @param <T> the type of the code's value
	 * @param key the key to lock
	 * @param code the code
	 * @return the code's value to come
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	default <T extends @Nullable Object> CompletableFuture<T> withLockAsync(String key,
			Supplier<? extends CompletionStage<T>> code) {
		return withLockAsync(LockRequest.of(key), code);
	}

	/**
	 * Run asynchronous code with a lock, which is held until the code's stage is
	 * completed, and inside of a Spring transaction of the caller until that is, too.
	 * Does not block. The code is called on a thread of Holdfast's that may block, within
	 * the caller's {@link LeaseContext} and the lease. Cancelling the future, or
	 * completing it otherwise, ends the wait. Code that has begun goes on, and keeps the
	 * lock.
	 * @param <T> the type of the code's value
	 * @param request the keys to lock, and the terms
	 * @param code the code
	 * @return the code's value to come, when the release was sent, as by
	 * {@link LockLease#close()}; fails as the code does, or as
	 * {@link #acquire(LockRequest)} throws
	 */
	default <T extends @Nullable Object> CompletableFuture<T> withLockAsync(LockRequest request,
			Supplier<? extends CompletionStage<T>> code) {
		return AsyncLeasedCall.always(code, true, acquireAsync(request.withinCurrent().forCode()));
	}

	/**
	 * Run asynchronous code with a lock if that can be acquired as
	 * {@link #tryAcquire(LockRequest)} does. Otherwise as
	 * {@link #withLockAsync(LockRequest, Supplier)}.
	 * @param <T> the type of the code's value
	 * @param request the keys to lock, and the terms
	 * @param code the code
	 * @return the code's value to come, or that it has not run because others held the
	 * key
	 */
	default <T extends @Nullable Object> CompletableFuture<LeasedResult<T>> tryWithLockAsync(LockRequest request,
			Supplier<? extends CompletionStage<T>> code) {
		return AsyncLeasedCall.ifAcquired(code, true, tryAcquireAsync(request.withinCurrent().forCode()));
	}

	/**
	 * Return a view of a key as a {@link java.util.concurrent.locks.Lock}, with the
	 * service's defaults.
	 * @param key the key to lock
	 * @return the view
	 * @throws IllegalArgumentException if the key is not allowed
	 * @see #asLock(LockRequest)
	 */
	default LockView asLock(String key) {
		return asLock(LockRequest.of(key));
	}

	/**
	 * Return a view of a key as a {@link java.util.concurrent.locks.Lock}, with the terms
	 * of a request: mode, lease time, renewal and the others. If it has a wait time,
	 * {@link LockView#lock()} and {@link LockView#lockInterruptibly()} wait for that time
	 * at most; else without limit. Views of one key and mode count the holds of a thread
	 * together, with different terms, too; views of equal requests are equal.
	 * @param request the keys to lock, and the terms: one key
	 * @return the view
	 * @throws IllegalArgumentException if the request is for several keys
	 */
	LockView asLock(LockRequest request);

	/**
	 * Return a view of a key as a {@link java.util.concurrent.locks.ReadWriteLock}, with
	 * the service's defaults.
	 * @param key the key to lock
	 * @return the view
	 * @throws IllegalArgumentException if the key is not allowed
	 * @see #asReadWriteLock(LockRequest)
	 */
	default ReadWriteLockView asReadWriteLock(String key) {
		return asReadWriteLock(LockRequest.of(key));
	}

	/**
	 * Return a view of a key as a {@link java.util.concurrent.locks.ReadWriteLock}, with
	 * the terms of a request, as those of {@link #asLock(LockRequest)}: its locks are
	 * those of the modes {@link LockMode#READ READ} and {@link LockMode#EXCLUSIVE
	 * EXCLUSIVE}; the request's mode does not count.
	 * @param request the keys to lock, and the terms: one key
	 * @return the view
	 * @throws IllegalArgumentException if the request is for several keys
	 */
	ReadWriteLockView asReadWriteLock(LockRequest request);

	/**
	 * Ask the store about a key. Blocks until the store answers.
	 * @param key the key
	 * @return the status in the store
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	LockStatus status(String key);

	/**
	 * Return the administrators' calls on locks of this service.
	 * @return the administrators' calls
	 */
	LockAdmin admin();

}
