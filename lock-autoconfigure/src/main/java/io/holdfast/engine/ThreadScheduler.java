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
 * Scheduler with real time. Has one daemon thread for timers, and threads for callbacks,
 * which may block. Idle threads end.
 */
public final class ThreadScheduler implements Scheduler, AutoCloseable {

	/** Delay of the no-op action in front of the other actions, in nanoseconds. */
	private static final long NO_OP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final Runnable NO_OP = () -> {
	};

	private final ScheduledThreadPoolExecutor executor;

	/** Time until which there is a no-op action in front. */
	private volatile long noOpUntil = System.nanoTime();

	/**
	 * Threads for callbacks. Not the common pool: its threads do not have the
	 * application's class loader in an executable jar, and users' continuations may
	 * block.
	 */
	private final ThreadPoolExecutor callbacks;

	private final Executor code;

	/**
	 * Create a scheduler, which starts threads on demand.
	 * @param threads creates the threads
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
		// After the shutdown, each task gets a thread of its own.
		return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, new SynchronousQueue<>(),
				(task) -> threads.create(task, "holdfast-callback"),
				(task, pool) -> threads.create(task, "holdfast-callback-late").start());
	}

	/** Return the executor for listeners, and for work of the engine that may block. */
	public Executor callbacks() {
		return this.callbacks;
	}

	/**
	 * Return the executor for users' continuations. Separate from callbacks, because long
	 * computations may occupy the few carrier threads of virtual threads.
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
			keepNoOpInFront(delayNanos);
			return this.executor.schedule(action, delayNanos, TimeUnit.NANOSECONDS);
		}
		catch (RejectedExecutionException ex) {
			// Closed: no actions are needed any more.
			return CompletableFuture.completedFuture(null);
		}
		catch (OutOfMemoryError ex) {
			// No thread can be started now. The action is queued, and the next one starts
			// the thread.
			return CompletableFuture.completedFuture(null);
		}
	}

	@Override
	public <T> T waitUntil(CompletableFuture<T> future, long until)
			throws InterruptedException, ExecutionException, TimeoutException {
		return BlockingWait.get(future, until - nanoTime());
	}

	/**
	 * Keep a no-op action at the head of the timer's queue. An action that becomes the
	 * head wakes up the timer thread, which is slow. Most actions are cancelled, so that
	 * without the no-op action almost each new action would become the head. Two no-op
	 * actions do no harm.
	 */
	private void keepNoOpInFront(long delayNanos) {
		long now = System.nanoTime();
		if (delayNanos > NO_OP_NANOS && this.noOpUntil - now <= 0) {
			this.noOpUntil = now + NO_OP_NANOS;
			this.executor.schedule(NO_OP, NO_OP_NANOS, TimeUnit.NANOSECONDS);
		}
	}

	@Override
	public void close() {
		this.executor.shutdownNow();
		this.callbacks.shutdown();
	}

}
