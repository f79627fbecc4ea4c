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
 * Runs tasks that may take their time on the threads of another executor, a limited
 * number at a time. The others wait without a thread. Thread-safe.
 */
public final class BoundedExecutor implements Executor {

	private final Executor threads;

	private final int most;

	private final Semaphore free;

	private final Queue<Runnable> first = new ConcurrentLinkedQueue<>();

	private final Queue<Runnable> others = new ConcurrentLinkedQueue<>();

	/** Not the sizes of the queues, which are counted element by element. */
	private final AtomicInteger waiting = new AtomicInteger();

	/**
	 * Create an executor.
	 * @param threads the threads
	 * @param most the number of tasks that run at a time
	 */
	public BoundedExecutor(Executor threads, int most) {
		this.threads = threads;
		this.most = most;
		this.free = new Semaphore(most);
	}

	@Override
	public void execute(Runnable task) {
		add(this.others, task);
	}

	/** Run a task before the waiting ones of {@link #execute}. */
	public void executeFirst(Runnable task) {
		add(this.first, task);
	}

	private void add(Queue<Runnable> queue, Runnable task) {
		queue.add(task);
		this.waiting.incrementAndGet();
		useFreeThread();
	}

	/**
	 * Run a task on the current thread, which may block; but if as many run already, then
	 * later, and on another thread.
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

	/** Return how many tasks wait for others to end, more or less. */
	public int waiting() {
		return this.waiting.get();
	}

	/** Wait until no task runs or waits, but no longer than for a time. */
	public void awaitIdle(Duration patience) {
		long until = System.nanoTime() + patience.toNanos();
		try {
			do {
				if (!this.free.tryAcquire(this.most, until - System.nanoTime(), TimeUnit.NANOSECONDS)) {
					return;
				}
				this.free.release(this.most);
				// A task that came in between has found no thread free.
				useFreeThread();
			}
			while (this.free.availablePermits() < this.most);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/** Use a free thread for the tasks that wait, if any do. */
	private void useFreeThread() {
		if (!(this.first.isEmpty() && this.others.isEmpty()) && this.free.tryAcquire()) {
			this.threads.execute(this::work);
		}
	}

	private void work() {
		try {
			for (Runnable task = next(); task != null; task = next()) {
				this.waiting.decrementAndGet();
				// A task that found none free does not wait for this.
				useFreeThread();
				run(task);
			}
		}
		finally {
			this.free.release();
			// A task may have come since.
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
		Runnable task = this.first.poll();
		return (task != null) ? task : this.others.poll();
	}

}
