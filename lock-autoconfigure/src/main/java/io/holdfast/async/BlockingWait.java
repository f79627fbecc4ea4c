package io.holdfast.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * Blocking wait of a thread for a future. Unlike {@link CompletableFuture#get} and
 * {@link CompletableFuture#join}, a worker of a {@link ForkJoinPool} does not run other
 * tasks of its pool while it waits. Such tasks would run under the locks of the worker,
 * and could take longer than the wait time.
 */
public final class BlockingWait implements ForkJoinPool.ManagedBlocker {

	/** Longest time of the clock, of 292 years. */
	private static final long UNLIMITED = Long.MAX_VALUE;

	private final CompletableFuture<?> future;

	private final long until;

	private BlockingWait(CompletableFuture<?> future, long nanos) {
		this.future = future;
		this.until = System.nanoTime() + nanos;
		Thread waiting = Thread.currentThread();
		future.whenComplete((value, failure) -> LockSupport.unpark(waiting));
	}

	/**
	 * Wait for the value of a future, as {@link CompletableFuture#get(long, TimeUnit)}
	 * does.
	 * @param <T> the type of the value
	 * @param future the future
	 * @param nanos the maximum wait, in nanoseconds
	 * @return the value
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws ExecutionException if the future has failed
	 * @throws TimeoutException if the future was not completed in time
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
	 * Wait without limit until a future is completed, successfully or not. Interrupts do
	 * not end the wait; the thread's interrupt flag is kept.
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
	 * Wait for a future as {@link #awaitEnd} does, and return its value.
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
			// The pool has no spare thread to compensate for this thread.
			block();
		}
	}

	@Override
	public boolean block() throws InterruptedException {
		for (long left = left(); !this.future.isDone() && left > 0; left = left()) {
			if (Thread.interrupted()) {
				throw new InterruptedException();
			}
			LockSupport.parkNanos(this, left);
		}
		return true;
	}

	private long left() {
		return this.until - System.nanoTime();
	}

	@Override
	public boolean isReleasable() {
		return this.future.isDone();
	}

}
