package io.holdfast.engine;

/**
 * Time as the engine sees it: a monotonic clock, and actions at a later time. Replaced in
 * simulations.
 */
public interface Scheduler {

	/**
	 * The monotonic clock, as {@link System#nanoTime()}.
	 * @return nanoseconds since some moment
	 */
	long nanoTime();

	/**
	 * Run an action once, later. It runs on a thread that it must not block.
	 * @param action what to run
	 * @param delayNanos after how many nanoseconds; zero or less for as soon as possible
	 * @return to cancel it
	 */
	Timer schedule(Runnable action, long delayNanos);

	/**
	 * An action that has yet to run.
	 */
	@FunctionalInterface
	interface Timer {

		/**
		 * Keep the action from running if it has not begun.
		 */
		void cancel();

	}

}
