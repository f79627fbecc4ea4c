package io.holdfast;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * Grants leases of locks to all instances that share a store. A lock has a key, and is
 * exclusive or shared by readers. Thread-safe.
 *
 * <p>
 * {@code acquire} waits for the request's wait time, or for the default wait time, and
 * throws an exception if the lock was not acquired. {@code tryAcquire} waits only if the
 * request has a wait time, and returns an empty {@link Optional} if another owner held
 * the key. A failure of the store is always a {@link LeaseStoreException}, and never
 * reported as a lock that another owner holds. No call blocks longer than its wait time,
 * even if the store does not answer, with two exceptions. A call with a wait time below
 * 250 ms gives the store a bounded time for its first answer. A call for a fenced lock
 * also waits for open transactions of earlier holders.
 *
 * <p>
 * Code in a transaction that acquires and releases a lease itself releases the lease
 * before the commit. The next owner of the lock then does not see the writes of the
 * transaction yet. Use {@link #withLock(LockRequest, LeasedCall) withLock} in
 * transactions: it releases the lock after the commit.
 *
 * <p>
 * Locks are re-entrant per thread: a thread that acquires a key again gets a nested lease
 * at once, with the same fencing token. The key is released with the last of the thread's
 * leases. If the thread's lease was renewed automatically and has been lost, each further
 * attempt fails with {@link LeaseLostException} until the thread releases that lease.
 * Asynchronous requests belong to no thread. They get a nested lease only
 * {@linkplain LockRequest#within within} a {@link LeaseContext}, whose lost leases also
 * fail further attempts.
 *
 * <p>
 * The {@linkplain LockRequest#mode(LockMode) mode} of a request is exclusive or for
 * reading. Requests of both modes wait in one queue, and neighbouring readers are granted
 * together. For a short time, an exclusive lock may be handed over within one instance
 * before waiters of other instances get it. An exclusive holder that requests the key for
 * reading gets a nested lease. A reader that requests the key exclusively is refused.
 *
 * <p>
 * A thread that is interrupted before or while it waits gets a
 * {@link LockNotAcquiredException} with the reason
 * {@link NotAcquiredException.Reason#INTERRUPTED INTERRUPTED}. Its interrupt flag is set
 * again, and its request is removed from the store.
 *
 * @since 0.1.0
 */
public interface LockService {

	/**
	 * Acquire a lock with the service's defaults. Blocks for the default wait time at
	 * most.
	 * @param key the key to lock
	 * @return the lease
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LockNotAcquiredException if the lock was not acquired
	 * @throws LeaseLostException if this thread has a lost lease of the key
	 * @throws LeaseStoreException if the store failed
	 */
	default LockLease acquire(String key) {
		return acquire(LockRequest.of(key));
	}

	/**
	 * Acquire a lock. Blocks for the request's wait time at most.
	 * @param request the keys and options
	 * @return the lease
	 * @throws IllegalArgumentException if the request is {@linkplain LockRequest#fenced()
	 * fenced}, but not {@linkplain LockRequest#forCode() for code}, or if its
	 * {@linkplain LockRequest#lossMargin(Duration) loss margin} is more than a third of
	 * the default lease time
	 * @throws LockNotAcquiredException if the lock was not acquired
	 * @throws LeaseLostException if this thread or the request's context has a lost lease
	 * of the key, or if one of several keys was lost during the wait for the other keys
	 * @throws LeaseStoreException if the store failed
	 */
	LockLease acquire(LockRequest request);

	/**
	 * Try once to acquire a lock, without waiting for another owner. Blocks until the
	 * store answers, for a bounded time.
	 * @param key the key to lock
	 * @return the lease, or empty if another owner holds the key
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LockNotAcquiredException if this thread was interrupted or reads the key
	 * itself, or this instance is shutting down
	 * @throws LeaseLostException if this thread has a lost lease of the key
	 * @throws LeaseStoreException if the store failed
	 */
	default Optional<LockLease> tryAcquire(String key) {
		return tryAcquire(LockRequest.of(key).waitTime(Duration.ZERO));
	}

	/**
	 * Try to acquire a lock. Blocks for the request's wait time at most. Tries once if
	 * the request has no wait time; the default wait time does not apply.
	 * @param request the keys and options
	 * @return the lease, or empty if another owner held the key until the end of the wait
	 * time
	 * @throws IllegalArgumentException as by {@link #acquire(LockRequest)}
	 * @throws LockNotAcquiredException if this thread was interrupted or would wait for
	 * itself, if too many requests wait, or if this instance is shutting down
	 * @throws LeaseLostException if this thread or the request's context has a lost lease
	 * of the key, or if one of several keys was lost during the wait for the other keys
	 * @throws LeaseStoreException if the store failed
	 */
	Optional<LockLease> tryAcquire(LockRequest request);

	/**
	 * Acquire a lock without blocking. Cancelling the future, or completing it in another
	 * way, ends the wait. A lock that is granted all the same is released. Once the
	 * future is completed with a lease, cancelling has no effect, and the caller must
	 * release the lease. A suspending function of Kotlin that is cancelled in
	 * {@code await()} at the moment of the grant therefore loses track of the lease.
	 * @param request the keys and options
	 * @return a future of the lease, which fails with the other exceptions of
	 * {@link #acquire(LockRequest)}. Continuations run on a Holdfast thread and may block
	 * @throws IllegalArgumentException if the request is fenced, or has too long a loss
	 * margin, as for {@link #acquire(LockRequest)}
	 */
	CompletableFuture<LockLease> acquireAsync(LockRequest request);

	/**
	 * Try to acquire a lock without blocking. Tries once if the request has no wait time.
	 * Cancellation and continuations are as in {@link #acquireAsync(LockRequest)}.
	 * @param request the keys and options
	 * @return a future of the lease, empty if another owner held the key until the end of
	 * the wait time. The future fails with the other exceptions of
	 * {@link #tryAcquire(LockRequest)}
	 * @throws IllegalArgumentException as by {@link #acquireAsync(LockRequest)}
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
	 * Run code with a lock: acquire the lock, run the code on this thread, and release
	 * the lock, also if the code fails. Within a Spring transaction, the lock is held
	 * until the commit or rollback, because other transactions do not see the writes
	 * before. Blocks for the request's wait time at most, and while the code runs.
	 * <p>
	 * While the code runs, {@link LockLease#current()} returns its lease. If the lease is
	 * lost, a warning is logged and a {@link LeaseLostEvent} is published. The code goes
	 * on, and its value is returned. Code that must stop on a loss calls
	 * {@link LockLease#ensureHeld()}. The lock is released by {@link LockLease#close()},
	 * without waiting for the store.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request the keys and options
	 * @param call the code
	 * @return the code's value
	 * @throws E of the code
	 * @throws LockNotAcquiredException if the lock was not acquired; the code has not run
	 * @throws LeaseLostException if this thread has a lost lease of the key, or if the
	 * request is {@linkplain LockRequest#fenced() fenced} and a database has refused a
	 * transaction of the code
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
	 * @param request the keys and options
	 * @param action the code
	 * @throws E of the code
	 */
	default <E extends Throwable> void withLock(LockRequest request, LeasedAction<E> action) throws E {
		withLock(request, LeasedCalls.callOf(action));
	}

	/**
	 * Run code with a lock if no other owner holds the key now. See
	 * {@link #tryWithLock(LockRequest, LeasedCall)}.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param key the key to lock
	 * @param call the code
	 * @return the code's value, or {@link LeasedResult#notAcquired()} if the code has not
	 * run
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
	 * Run code with a lock if {@link #tryAcquire(LockRequest)} acquires the lock. Runs
	 * and releases as {@link #withLock(LockRequest, LeasedCall)} does.
	 * @param <T> the type of the code's value
	 * @param <E> the type of the code's exceptions
	 * @param request the keys and options
	 * @param call the code
	 * @return the code's value, or {@link LeasedResult#notAcquired()} if another owner
	 * held the key
	 * @throws E of the code
	 * @throws LockNotAcquiredException as by {@link #tryAcquire(LockRequest)}; the code
	 * has not run
	 * @throws LeaseStoreException if the store failed; the code has not run
	 */
	default <T extends @Nullable Object, E extends Throwable> LeasedResult<T> tryWithLock(LockRequest request,
			LeasedCall<T, E> call) throws E {
		return LeasedCalls.callIfAcquired(tryAcquire(request.withinCurrent().forCode()), true, call);
	}

	/**
	 * Run code that returns nothing with a lock if the lock can be acquired. Otherwise as
	 * {@link #tryWithLock(LockRequest, LeasedCall)}.
	 * @param <E> the type of the code's exceptions
	 * @param request the keys and options
	 * @param action the code
	 * @return whether the code has run
	 * @throws E of the code
	 */
	default <E extends Throwable> boolean tryWithLock(LockRequest request, LeasedAction<E> action) throws E {
		return tryWithLock(request, LeasedCalls.callOf(action)).isAcquired();
	}

	/**
	 * Run asynchronous code with a lock, with the defaults. See
	 * {@link #withLockAsync(LockRequest, Supplier)}.
	 * @param <T> the type of the code's value
	 * @param key the key to lock
	 * @param code the code
	 * @return a future of the code's value
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	default <T extends @Nullable Object> CompletableFuture<T> withLockAsync(String key,
			Supplier<? extends CompletionStage<T>> code) {
		return withLockAsync(LockRequest.of(key), code);
	}

	/**
	 * Run asynchronous code with a lock. The lock is held until the code's stage is
	 * completed; within a Spring transaction of the caller, also until the transaction is
	 * completed. Does not block. The code is called on a Holdfast thread and may block.
	 * It runs within the caller's {@link LeaseContext} with the new lease added.
	 * Cancelling the future, or completing it in another way, ends the wait for the lock.
	 * Code that has begun goes on, and keeps the lock.
	 * @param <T> the type of the code's value
	 * @param request the keys and options
	 * @param code the code
	 * @return a future of the code's value, completed after the release was sent as by
	 * {@link LockLease#close()}. The future fails with the code's exception, or with the
	 * exceptions of the future of {@link #acquireAsync(LockRequest)}
	 * @throws IllegalArgumentException as by {@link #acquireAsync(LockRequest)}
	 */
	default <T extends @Nullable Object> CompletableFuture<T> withLockAsync(LockRequest request,
			Supplier<? extends CompletionStage<T>> code) {
		return AsyncLeasedCall.always(code, true, acquireAsync(request.withinCurrent().forCode()));
	}

	/**
	 * Run asynchronous code with a lock if {@link #tryAcquireAsync(LockRequest)} acquires
	 * the lock. Otherwise as {@link #withLockAsync(LockRequest, Supplier)}.
	 * @param <T> the type of the code's value
	 * @param request the keys and options
	 * @param code the code
	 * @return a future of the code's value, or of {@link LeasedResult#notAcquired()} if
	 * another owner held the key
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
	 * Return a view of a key as a {@link java.util.concurrent.locks.Lock}, with the
	 * options of a request. {@link LockView#lock()} and
	 * {@link LockView#lockInterruptibly()} wait for the request's wait time, or without
	 * limit if the request has none. All views of one key and mode share one hold count
	 * per thread, also if their requests differ. Views of equal requests are equal.
	 * @param request one key and options
	 * @return the view
	 * @throws IllegalArgumentException if the request is for several keys or fenced
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
	 * the options of a request as in {@link #asLock(LockRequest)}. The request's mode is
	 * ignored: the read lock has the mode {@link LockMode#READ READ}, and the write lock
	 * has the mode {@link LockMode#EXCLUSIVE EXCLUSIVE}.
	 * @param request one key and options
	 * @return the view
	 * @throws IllegalArgumentException if the request is for several keys or fenced
	 */
	ReadWriteLockView asReadWriteLock(LockRequest request);

	/**
	 * Return the status of a key in the store now. Blocks until the store answers.
	 * @param key the key
	 * @return the status
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	LockStatus status(String key);

	/**
	 * Return the administrative operations on this service's locks.
	 * @return the administrative operations
	 */
	LockAdmin admin();

}
