package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;

/**
 * Time as the engine sees it: a monotonic clock, actions at a later time, and threads
 * that wait. Replaced in simulations.
 */
public interface Scheduler {

	/**
	 * Return the monotonic clock, as {@link System#nanoTime()}.
	 * @return nanoseconds since some moment
	 */
	long nanoTime();

	/**
	 * Run an action once, later. It runs on a thread that it must not block.
	 * @param action the action
	 * @param delayNanos after how many nanoseconds; zero or less for as soon as possible
	 * @return to cancel it before it begins; may tell nothing else
	 */
	Future<?> schedule(Runnable action, long delayNanos);

	/**
	 * Keep the current thread waiting. It does nothing else in that time.
	 * @param <T> the type of the result
	 * @param future the result to wait for
	 * @param until the end of the wait, by {@link #nanoTime()}
	 * @return the result
	 * @throws InterruptedException if the thread is interrupted, before or while it waits
	 * @throws ExecutionException if it failed
	 * @throws TimeoutException if it did not come in time
	 */
	<T> T waitUntil(CompletableFuture<T> future, long until)
			throws InterruptedException, ExecutionException, TimeoutException;

}
