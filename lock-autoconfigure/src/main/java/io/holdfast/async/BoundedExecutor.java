package io.holdfast.async;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;

/**
 * Executor that runs a limited number of tasks at a time on the threads of another
 * executor. Further tasks are queued. Thread-safe.
 */
public final class BoundedExecutor implements Executor {

	private final Executor threads;

	private final int maximum;

	private final Semaphore free;

	private final Queue<Runnable> urgent = new ConcurrentLinkedQueue<>();

	private final Queue<Runnable> queued = new ConcurrentLinkedQueue<>();

	/** Number of queued tasks. The size() of the queues would count their elements. */
	private final AtomicInteger waiting = new AtomicInteger();

	/**
	 * Create an executor.
	 * @param threads runs the tasks
	 * @param maximum the maximum number of tasks that run at a time
	 */
	public BoundedExecutor(Executor threads, int maximum) {
		this.threads = threads;
		this.maximum = maximum;
		this.free = new Semaphore(maximum);
	}

	@Override
	public void execute(Runnable task) {
		add(this.queued, task);
	}

	/** Run a task before the queued tasks of {@link #execute}. */
	public void executeFirst(Runnable task) {
		add(this.urgent, task);
	}

	private void add(Queue<Runnable> queue, Runnable task) {
		queue.add(task);
		this.waiting.incrementAndGet();
		useFreeThread();
	}

	/**
	 * Run a task on the current thread, which may block. If the maximum number of tasks
	 * is running, the task is queued for another thread.
	 */
	public void executeHere(Runnable task) {
		if (!this.free.tryAcquire()) {
			execute(task);
			return;
		}
		try {
			task.run();
		}
		finally {
			this.free.release();
			useFreeThread();
		}
	}

	/** Return the approximate number of queued tasks. */
	public int waiting() {
		return this.waiting.get();
	}

	/** Wait until no task runs or is queued, for a time at most. */
	public void awaitIdle(Duration patience) {
		long until = System.nanoTime() + patience.toNanos();
		try {
			do {
				if (!this.free.tryAcquire(this.maximum, until - System.nanoTime(), TimeUnit.NANOSECONDS)) {
					return;
				}
				this.free.release(this.maximum);
				// Start tasks that were added in between, when all permits were taken.
				useFreeThread();
			}
			while (this.free.availablePermits() < this.maximum);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/** Start a thread if tasks are queued and the maximum is not reached. */
	private void useFreeThread() {
		if (!(this.urgent.isEmpty() && this.queued.isEmpty()) && this.free.tryAcquire()) {
			this.threads.execute(this::work);
		}
	}

	private void work() {
		try {
			for (Runnable task = next(); task != null; task = next()) {
				this.waiting.decrementAndGet();
				// Start another thread for the next task, so that it does not wait for
				// this task.
				useFreeThread();
				run(task);
			}
		}
		finally {
			this.free.release();
			// A task may have been added since the last poll.
			useFreeThread();
		}
	}

	private static void run(Runnable task) {
		try {
			task.run();
		}
		catch (RuntimeException | Error ex) {
			Thread thread = Thread.currentThread();
			thread.getUncaughtExceptionHandler().uncaughtException(thread, ex);
		}
	}

	private @Nullable Runnable next() {
		Runnable task = this.urgent.poll();
		return (task != null) ? task : this.queued.poll();
	}

}
