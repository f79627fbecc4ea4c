package io.holdfast;

import java.util.concurrent.TimeUnit;

/**
 * A semaphore of a {@link SemaphoreService} in the habit of
 * {@link java.util.concurrent.Semaphore}. Thread-safe.
 *
 * <p>
 * As there, permits belong to no thread: what one thread acquired another may release.
 * Unlike there, only permits that were acquired by views of this key, from this service,
 * can be released. Every method that asks the store may throw
 * {@link LeaseStoreException}, every one that acquires {@link PermitNotAcquiredException}
 * if this instance is shutting down or more permits are asked for than there are. The
 * default wait time does not apply. What waits without a time of its own waits as long as
 * the {@linkplain SemaphoreService#asSemaphore(SemaphoreRequest) request} of this view
 * says, and throws {@link PermitNotAcquiredException} then; without limit if it says
 * nothing.
 *
 * @since 0.1.0
 */
public interface SemaphoreView {

	/**
	 * Acquire a permit, waiting until interrupted.
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 */
	default void acquire() throws InterruptedException {
		acquire(1);
	}

	/**
	 * Acquire permits, all at once, waiting until interrupted.
	 * @param permits how many, at least 1
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws IllegalArgumentException if the number is less than 1
	 */
	void acquire(int permits) throws InterruptedException;

	/**
	 * Acquire a permit. Interrupts do not end the wait; the thread's interrupt flag is
	 * kept.
	 */
	default void acquireUninterruptibly() {
		acquireUninterruptibly(1);
	}

	/**
	 * Acquire permits, all at once. Interrupts do not end the wait; the thread's
	 * interrupt flag is kept.
	 * @param permits how many, at least 1
	 * @throws IllegalArgumentException if the number is less than 1
	 */
	void acquireUninterruptibly(int permits);

	/**
	 * Try once to acquire a permit, without waiting for others. Interrupts do not matter.
	 * @return whether it was acquired
	 */
	default boolean tryAcquire() {
		return tryAcquire(1);
	}

	/**
	 * Try once to acquire permits, all at once, without waiting for others. Interrupts do
	 * not matter.
	 * @param permits how many, at least 1
	 * @return whether they were acquired
	 * @throws IllegalArgumentException if the number is less than 1
	 */
	boolean tryAcquire(int permits);

	/**
	 * Try to acquire a permit for a time.
	 * @param time the longest wait; zero or less tries once
	 * @param unit the unit of the time
	 * @return whether it was acquired
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 */
	default boolean tryAcquire(long time, TimeUnit unit) throws InterruptedException {
		return tryAcquire(1, time, unit);
	}

	/**
	 * Try to acquire permits, all at once, for a time.
	 * @param permits how many, at least 1
	 * @param time the longest wait; zero or less tries once
	 * @param unit the unit of the time
	 * @return whether they were acquired
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws IllegalArgumentException if the number is less than 1
	 */
	boolean tryAcquire(int permits, long time, TimeUnit unit) throws InterruptedException;

	/**
	 * Release a permit. Blocks until the store answers.
	 * @throws IllegalStateException if no view has acquired one that is not released
	 * @throws LeaseLostException if its lease was lost; it counts as released
	 */
	default void release() {
		release(1);
	}

	/**
	 * Release permits, in whatever portions they were acquired. Blocks until the store
	 * answers. Trouble with the store is logged, not thrown: the permits then come back
	 * at the latest at the end of their leases.
	 * @param permits how many, at least 1
	 * @throws IllegalArgumentException if the number is less than 1
	 * @throws IllegalStateException if views have not acquired as many that are not
	 * released; none is released then
	 * @throws LeaseLostException if the lease of some was lost; all count as released
	 */
	void release(int permits);

	/**
	 * Return how many permits are free now. Asks the store, and blocks until it answers.
	 * @return the number of permits, never negative
	 */
	int availablePermits();

	/**
	 * Acquire all permits that are free now, without waiting for others: also if others
	 * wait, who need more than are free.
	 * @return how many were acquired, perhaps 0
	 */
	int drainPermits();

}
