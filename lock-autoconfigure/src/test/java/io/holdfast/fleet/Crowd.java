package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Threads that begin at the same moment.
 */
final class Crowd {

	private final List<Task> tasks = new ArrayList<>();

	Crowd add(int times, Task task) {
		for (int i = 0; i < times; i++) {
			this.tasks.add(task);
		}
		return this;
	}

	/**
	 * Run all tasks, each on its own thread, and wait for a minute at most; the first
	 * error counts.
	 */
	void run() throws Exception {
		run(Duration.ofMinutes(1));
	}

	/**
	 * Run all tasks, as {@link #run()} does, with a timeout for a busy machine.
	 * @param timeout the longest time
	 */
	void run(Duration timeout) throws Exception {
		long deadline = System.nanoTime() + timeout.toNanos();
		ExecutorService threads = Executors.newFixedThreadPool(this.tasks.size());
		try {
			CountDownLatch start = new CountDownLatch(1);
			List<Future<?>> running = new ArrayList<>();
			for (Task task : this.tasks) {
				running.add(threads.submit(() -> {
					start.await();
					task.run();
					return null;
				}));
			}
			start.countDown();
			for (Future<?> future : running) {
				future.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
			}
		}
		finally {
			threads.shutdownNow();
		}
	}

	interface Task {

		void run() throws Exception;

	}

}
