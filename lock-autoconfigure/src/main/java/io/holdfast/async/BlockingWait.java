package io.holdfast.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * The wait of one thread for a future, during which the thread does nothing else. A
 * worker of a {@link ForkJoinPool} that waits by {@link CompletableFuture#get} or
 * {@link CompletableFuture#join} runs other tasks of its pool in that time: inside of the
 * locks that the worker holds, and for longer than the wait time.
 */
public final class BlockingWait implements ForkJoinPool.ManagedBlocker {

	private static final long UNLIMITED = Long.MAX_VALUE;

	private final CompletableFuture<?> future;

	private final boolean limited;

	private final long until;

	private BlockingWait(CompletableFuture<?> future, long nanos) {
		this.future = future;
		this.limited = nanos != UNLIMITED;
		this.until = System.nanoTime() + nanos;
		Thread waiting = Thread.currentThread();
		future.whenComplete((value, failure) -> LockSupport.unpark(waiting));
	}

	/**
	 * Wait for a value, as {@link CompletableFuture#get(long, TimeUnit)} does, by the
	 * system's clock.
	 * @param <T> the type of the value
	 * @param future the value to come
	 * @param nanos the longest wait
	 * @return the value
	 * @throws InterruptedException if the thread is interrupted, before or in the wait
	 * @throws ExecutionException if the future has failed
	 * @throws TimeoutException if the time is over
	 */
	public static <T> T get(CompletableFuture<T> future, long nanos)
			throws InterruptedException, ExecutionException, TimeoutException {
		if (!future.isDone()) {
			new BlockingWait(future, nanos).await();
		}
		if (!future.isDone()) {
			throw new TimeoutException();
		}
		return future.get();
	}

	/**
	 * Wait for the end of a future, however long that takes and however it ends.
	 * Interrupts do not end the wait; the thread's flag is kept.
	 * @param future the future
	 */
	public static void awaitEnd(CompletableFuture<?> future) {
		boolean interrupted = false;
		while (!future.isDone()) {
			try {
				new BlockingWait(future, UNLIMITED).await();
			}
			catch (InterruptedException ex) {
				interrupted = true;
			}
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Return the value of a future, after {@linkplain #awaitEnd a wait for its end}.
	 * @param <T> the type of the value
	 * @param future the future
	 * @return the value
	 * @throws java.util.concurrent.CompletionException if the future has failed
	 * @throws java.util.concurrent.CancellationException if the future was cancelled
	 */
	public static <T> T join(CompletableFuture<T> future) {
		awaitEnd(future);
		return future.join();
	}

	private void await() throws InterruptedException {
		try {
			ForkJoinPool.managedBlock(this);
		}
		catch (RejectedExecutionException ex) {
			// The pool has no thread to stand in for this one.
			block();
		}
	}

	@Override
	public boolean block() throws InterruptedException {
		long left = this.until - System.nanoTime();
		while (!this.future.isDone() && (left > 0 || !this.limited)) {
			if (Thread.interrupted()) {
				throw new InterruptedException();
			}
			if (this.limited) {
				LockSupport.parkNanos(this, left);
			}
			else {
				LockSupport.park(this);
			}
			left = this.until - System.nanoTime();
		}
		return true;
	}

	@Override
	public boolean isReleasable() {
		return this.future.isDone();
	}

}
