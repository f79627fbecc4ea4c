package io.holdfast;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A key of a {@link LockService} as a {@link ReadWriteLock}: re-entrant and owned by
 * threads, as {@link java.util.concurrent.locks.ReentrantReadWriteLock} is. Thread-safe.
 *
 * <p>
 * The write lock is the exclusive lock of the key. A thread that holds the write lock may
 * take the read lock, too. The key then stays locked exclusively until the thread has
 * released both locks: unlike {@code ReentrantReadWriteLock}, a writer cannot downgrade
 * to a reader. A thread that holds only the read lock cannot take the write lock. It gets
 * a {@link LockNotAcquiredException} with the reason
 * {@link NotAcquiredException.Reason#SELF_BLOCKED SELF_BLOCKED} at once, instead of
 * waiting for itself; {@link LockView#tryLock() tryLock()}, which does not wait, returns
 * {@code false}.
 *
 * @since 0.1.0
 */
public interface ReadWriteLockView extends ReadWriteLock {

	/**
	 * Return the lock for reading, which many owners may hold at once.
	 * @return a view of the read lock
	 */
	@Override
	LockView readLock();

	/**
	 * Return the lock for writing, which one owner may hold while there are no readers.
	 * @return a view of the write lock
	 */
	@Override
	LockView writeLock();

}
