package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;

/**
 * Clock and timer of the engine, and its way to block threads. Replaced in simulations.
 */
public interface Scheduler {

	/**
	 * Return the time of the monotonic clock, as {@link System#nanoTime()}.
	 * @return the time, in nanoseconds since an arbitrary origin
	 */
	long nanoTime();

	/**
	 * Run an action once, after a delay. The action must not block its thread.
	 * @param action the action
	 * @param delayNanos the delay, in nanoseconds; zero or less for as soon as possible
	 * @return a future that only serves to cancel the action before it begins
	 */
	Future<?> schedule(Runnable action, long delayNanos);

	/**
	 * Block the current thread until a future is completed.
	 * @param <T> the type of the result
	 * @param future the future
	 * @param until the end of the wait, by {@link #nanoTime()}
	 * @return the result
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws ExecutionException if the future failed
	 * @throws TimeoutException if the future was not completed in time
	 */
	<T> T waitUntil(CompletableFuture<T> future, long until)
			throws InterruptedException, ExecutionException, TimeoutException;

}
