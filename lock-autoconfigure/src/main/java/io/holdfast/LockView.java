package io.holdfast;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

import org.jspecify.annotations.Nullable;

/**
 * A key of a {@link LockService} as a {@link Lock}: re-entrant and owned by threads, as
 * {@link java.util.concurrent.locks.ReentrantLock} is. Thread-safe.
 *
 * <p>
 * Every method that locks may throw {@link LeaseStoreException} if the store failed, and
 * {@link LeaseLostException} if this thread has a lost lease of the key. {@link #lock()}
 * and {@link #lockInterruptibly()} wait for the wait time of the view's
 * {@linkplain LockService#asLock(LockRequest) request}, or without limit if the request
 * has none. The service's default wait time does not apply. {@link #tryLock()} tries
 * once.
 *
 * @since 0.1.0
 */
public interface LockView extends Lock {

	/**
	 * Lock the key. Interrupts do not end the wait; the thread's interrupt flag is kept.
	 * @throws LockNotAcquiredException if the wait time of the request is over, if this
	 * thread would wait for itself, if too many requests wait, or if this instance is
	 * shutting down
	 */
	@Override
	void lock();

	/**
	 * Lock the key. An interrupt ends the wait.
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws LockNotAcquiredException as by {@link #lock()}
	 */
	@Override
	void lockInterruptibly() throws InterruptedException;

	/**
	 * Try once to lock the key, without waiting for another owner. Ignores interrupts;
	 * the thread's interrupt flag is kept.
	 * @return whether this thread holds the key now; {@code false} also for a write lock
	 * if this thread holds the read lock
	 * @throws LockNotAcquiredException if this instance is shutting down
	 */
	@Override
	boolean tryLock();

	/**
	 * Try to lock the key within a time.
	 * @param time the maximum wait; zero or less tries once
	 * @param unit the unit of the time
	 * @return whether this thread holds the key now
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws LockNotAcquiredException if this thread would wait for itself, if too many
	 * requests wait, or if this instance is shutting down
	 */
	@Override
	boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

	/**
	 * Release one hold of this thread. A failure of the store is logged, not thrown: the
	 * key then expires at the end of its lease time at the latest.
	 * @throws IllegalMonitorStateException if this thread does not hold the key by a
	 * view, or if its lease has ended before. The hold is then released all the same
	 */
	@Override
	void unlock();

	/**
	 * Not supported.
	 * @throws UnsupportedOperationException always
	 */
	@Override
	Condition newCondition();

	/**
	 * Return whether the key is locked in the store by any owner. Blocks until the store
	 * answers.
	 * @return whether the key is locked
	 * @throws LeaseStoreException if the store failed
	 */
	boolean isLocked();

	/**
	 * Return whether this thread holds the key by a view, with a lease that is not lost.
	 * Does not block.
	 * @return whether this thread holds the key
	 */
	boolean isHeldByCurrentThread();

	/**
	 * Return the number of holds of this thread by views of this key and mode.
	 * @return the number of holds, 0 if this thread does not hold the key
	 */
	int getHoldCount();

	/**
	 * Return the lease of this thread's innermost hold by a view of this key and mode,
	 * for example for its {@linkplain LockLease#fencingToken() fencing token}. Do not
	 * release the lease: {@link #unlock()} does. Does not block.
	 * @return the lease, which may be lost
	 * @throws IllegalMonitorStateException if this thread does not hold the key by a view
	 */
	LockLease lease();

	/**
	 * Return the time until the key expires in the store without renewal. Blocks until
	 * the store answers.
	 * @return the time left, zero if the key is free, {@code null} if a client other than
	 * Holdfast holds the key without an expiry
	 * @throws LeaseStoreException if the store failed
	 */
	@Nullable Duration remaining();

}
