package io.holdfast;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Grants leased locks on keys, exclusive or for readers and writers, over all instances
 * that share a store. Thread-safe.
 *
 * <p>
 * {@code acquire} throws if the lock was not acquired; {@code tryAcquire} returns an
 * empty {@link Optional} if others held the key until the wait time was over. Trouble
 * with the store is a {@link LeaseStoreException} in both, never "it is held by another
 * owner". No call blocks past its wait time, also when the store does not answer; a call
 * that does not wait, or for less than 250 ms, allows the store a bounded time for its
 * first answer.
 *
 * <p>
 * Locks are re-entrant by thread: a thread that asks again for a key that it holds gets a
 * nested lease at once, with the same fencing token; the key is released with the last of
 * them. If the lease it holds was lost although it was to be renewed, the attempt fails
 * with {@link LeaseLostException} until that lease is released. Asynchronous requests
 * belong to no thread and are never nested.
 *
 * <p>
 * By its {@linkplain LockRequest#mode(LockMode) mode} a key is locked exclusively, or by
 * many readers or one writer, who are served in their order, neighbouring readers
 * together, but that writers of one instance may follow each other for a moment. A thread
 * that writes may also read, and go on reading after its write lease was released; one
 * that only reads is refused to write.
 *
 * <p>
 * A thread that is interrupted while it waits gets a {@link LockNotAcquiredException} of
 * reason {@link NotAcquiredException.Reason#INTERRUPTED INTERRUPTED}; its interrupt flag
 * is set again, and nothing stays in the store.
 */
public interface LockService {

	/**
	 * Acquire a lock with the defaults. Blocks for the default wait time at most.
	 * @param key what to lock
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
	 * @param request what to lock, and how
	 * @return the lease
	 * @throws LockNotAcquiredException if it was not acquired
	 * @throws LeaseLostException if this thread holds a lease of the key that was lost,
	 * or one of several keys was lost while the others were waited for
	 * @throws LeaseStoreException if the store failed
	 */
	LockLease acquire(LockRequest request);

	/**
	 * Try once to acquire a lock, without waiting for others.
	 * @param key what to lock
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
	 * Try to acquire a lock. Blocks for the request's wait time at most.
	 * @param request what to lock, and how
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
	 * ends the wait; a lock that was granted by then is released.
	 * @param request what to lock, and how
	 * @return the lease to come; fails as {@link #acquire(LockRequest)} throws.
	 * Continuations run on a thread of Holdfast's that may block
	 */
	CompletableFuture<LockLease> acquireAsync(LockRequest request);

	/**
	 * Try to acquire a lock without blocking, as {@link #acquireAsync(LockRequest)}.
	 * @param request what to lock, and how
	 * @return the lease to come, or empty if others held the key until the wait time was
	 * over; fails as {@link #tryAcquire(LockRequest)} throws
	 */
	CompletableFuture<Optional<LockLease>> tryAcquireAsync(LockRequest request);

	/**
	 * A view of a key as a {@link java.util.concurrent.locks.Lock}, with the default
	 * lease time. Views of one key are interchangeable: they count the holds of a thread
	 * together.
	 * @param key what to lock
	 * @return the view
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	LockView asLock(String key);

	/**
	 * A view of a key as a {@link java.util.concurrent.locks.ReadWriteLock}, with the
	 * default lease time: its locks are those of the modes {@link LockMode#READ READ} and
	 * {@link LockMode#WRITE WRITE}. Views of one key are interchangeable.
	 * @param key what to lock
	 * @return the view
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	ReadWriteLockView asReadWriteLock(String key);

	/**
	 * Ask the store about a key. Blocks until the store answers.
	 * @param key what to ask about
	 * @return what the store knows of it
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	LockStatus status(String key);

	/**
	 * Release a key in the name of its owner, and pass it to the next waiter; one that is
	 * locked by readers in all their names. For administrators: it breaks the exclusion
	 * until the owner notices, which is at its next renewal. Logged as a warning. Blocks
	 * until the store answers.
	 * @param key what to release
	 * @return whether it had an owner
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean forceRelease(String key);

}
