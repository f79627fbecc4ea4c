package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.holdfast.async.BlockingWait;
import io.holdfast.async.DaemonThreads;

/**
 * Real time, on one daemon thread, and threads for callbacks that may block; they are
 * there only while something is to be done.
 */
public final class ThreadScheduler implements Scheduler, AutoCloseable {

	/** How long an action that does nothing stays in front of the others. */
	private static final long IN_FRONT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final Runnable NOTHING = () -> {
	};

	private final ScheduledThreadPoolExecutor executor;

	/** Until when there is one. */
	private volatile long inFrontUntil = System.nanoTime();

	/**
	 * Not the common pool: its threads have no application class loader in an executable
	 * jar, and users may block in continuations.
	 */
	private final ThreadPoolExecutor callbacks;

	private final Executor code;

	/**
	 * Create a scheduler, which starts its threads when it needs them.
	 * @param threads makes the threads
	 */
	public ThreadScheduler(DaemonThreads threads) {
		this.executor = new ScheduledThreadPoolExecutor(1, (task) -> threads.create(task, "holdfast-timer"));
		this.callbacks = pool(threads);
		this.code = DaemonThreads.VIRTUAL_FOR_CODE ? (task) -> threads.createForCode(task, "").start() : this.callbacks;
		this.executor.setRemoveOnCancelPolicy(true);
		this.executor.setKeepAliveTime(10, TimeUnit.SECONDS);
		this.executor.allowCoreThreadTimeOut(true);
	}

	private static ThreadPoolExecutor pool(DaemonThreads threads) {
		// Once it is shut down, tasks have threads of their own.
		return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, new SynchronousQueue<>(),
				(task) -> threads.create(task, "holdfast-callback"),
				(task, pool) -> threads.create(task, "holdfast-callback-late").start());
	}

	/** Return the executor of listeners, and of the engine's own work that may block. */
	public Executor callbacks() {
		return this.callbacks;
	}

	/**
	 * Return the executor of continuations of users. They may compute for long, and keep
	 * from others the few threads that virtual ones run on.
	 */
	public Executor code() {
		return this.code;
	}

	@Override
	public long nanoTime() {
		return System.nanoTime();
	}

	@Override
	public Future<?> schedule(Runnable action, long delayNanos) {
		try {
			keepOneInFront(delayNanos);
			return this.executor.schedule(action, delayNanos, TimeUnit.NANOSECONDS);
		}
		catch (RejectedExecutionException ex) {
			// Closed: nothing is left to be done later.
			return CompletableFuture.completedFuture(null);
		}
	}

	@Override
	public <T> T waitUntil(CompletableFuture<T> future, long until)
			throws InterruptedException, ExecutionException, TimeoutException {
		return BlockingWait.get(future, until - nanoTime());
	}

	/**
	 * Keep an action that does nothing in front of the others, which then wake up no
	 * thread. The first action wakes up the thread, only to wait for it; and as most are
	 * cancelled, each next one would be the first again. Two in front do no harm.
	 */
	private void keepOneInFront(long delayNanos) {
		long now = System.nanoTime();
		if (delayNanos > IN_FRONT_NANOS && this.inFrontUntil - now <= 0) {
			this.inFrontUntil = now + IN_FRONT_NANOS;
			this.executor.schedule(NOTHING, IN_FRONT_NANOS, TimeUnit.NANOSECONDS);
		}
	}

	@Override
	public void close() {
		this.executor.shutdownNow();
		this.callbacks.shutdown();
	}

}
