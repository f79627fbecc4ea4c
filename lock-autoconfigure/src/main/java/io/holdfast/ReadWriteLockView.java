package io.holdfast;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A key of a {@link LockService} as a {@link ReadWriteLock}: re-entrant and owned by
 * threads, as {@link java.util.concurrent.locks.ReentrantReadWriteLock} is. Thread-safe.
 *
 * <p>
 * The write lock is the exclusive lock of the key. A thread that holds it may take the
 * read lock, too; others may read once it has released both. So a thread does not become
 * a reader by releasing the write lock first. A thread that holds the read lock only and
 * asks for the write lock gets a {@link LockNotAcquiredException} of reason
 * {@link NotAcquiredException.Reason#SELF_BLOCKED SELF_BLOCKED} at once, instead of
 * waiting for itself; {@link LockView#tryLock() tryLock()}, which does not wait, answers
 * {@code false}.
 *
 * @since 0.1.0
 */
public interface ReadWriteLockView extends ReadWriteLock {

	/**
	 * Return the lock for reading, which many may hold at once.
	 * @return a view of it
	 */
	@Override
	LockView readLock();

	/**
	 * Return the lock for writing, which one may hold while there are no readers.
	 * @return a view of it
	 */
	@Override
	LockView writeLock();

}
