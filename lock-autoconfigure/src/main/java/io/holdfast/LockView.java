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
 * {@link LeaseLostException} if this thread holds the key but has lost its lease. The
 * default wait time does not apply: {@link #lock()} and {@link #lockInterruptibly()} wait
 * for as long as the {@linkplain LockService#asLock(LockRequest) request} of this view
 * says, or without limit if it says nothing; {@link #tryLock()} tries once.
 *
 * @since 0.1.0
 */
public interface LockView extends Lock {

	/**
	 * Lock. Interrupts do not end the wait; the thread's interrupt flag is kept.
	 * @throws LockNotAcquiredException if this instance is shutting down, or the wait
	 * time of the request is over
	 */
	@Override
	void lock();

	/**
	 * Lock, waiting until interrupted.
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws LockNotAcquiredException if this instance is shutting down, or the wait
	 * time of the request is over
	 */
	@Override
	void lockInterruptibly() throws InterruptedException;

	/**
	 * Try once to lock, without waiting for others. Interrupts do not matter; the
	 * thread's interrupt flag is kept.
	 * @return whether this thread holds the key now; {@code false} also if this thread
	 * itself is in the way, as it only reads and asks to write
	 */
	@Override
	boolean tryLock();

	/**
	 * Try to lock for a time.
	 * @param time the longest wait; zero or less tries once
	 * @param unit the unit of the time
	 * @return whether this thread holds the key now
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 */
	@Override
	boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

	/**
	 * Undo one lock of this thread. Trouble with the store is logged, not thrown: the key
	 * then expires at the latest at the end of its lease.
	 * @throws IllegalMonitorStateException if this thread does not hold the key by a
	 * view, or its lease was lost; in that case the lock is undone all the same
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
	 * Return whether the key is held. Asks the store, and blocks until it answers.
	 * @return whether it is locked, by any owner
	 * @throws LeaseStoreException if the store failed
	 */
	boolean isLocked();

	/**
	 * Return whether this thread holds the key by a view, by a lease that is not lost.
	 * @return whether it does
	 */
	boolean isHeldByCurrentThread();

	/**
	 * Return how many locks by a view this thread has yet to undo.
	 * @return the number of holds
	 */
	int getHoldCount();

	/**
	 * Return the lease of this thread's innermost lock by a view of this key and mode,
	 * with its {@linkplain LockLease#fencingToken() fencing token}. It ends by
	 * {@link #unlock()}: do not release it. Does not ask the store.
	 * @return the lease, which may be lost
	 * @throws IllegalMonitorStateException if this thread does not hold the key by a view
	 */
	LockLease lease();

	/**
	 * Return how long the key lives if it is not renewed. Asks the store, and blocks
	 * until it answers.
	 * @return the time left, zero if it is free, {@code null} if a foreign owner gave it
	 * no end
	 * @throws LeaseStoreException if the store failed
	 */
	@Nullable Duration remaining();

}
