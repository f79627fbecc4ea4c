package io.holdfast.fleet;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Something that a thread of its own does.
 *
 * @param <T> what comes of it
 */
final class Call<T> {

	private final FutureTask<T> task;

	private final Thread thread;

	private Call(Callable<T> action) {
		this.task = new FutureTask<>(action);
		this.thread = new Thread(this.task, "call");
		this.thread.setDaemon(true);
		this.thread.start();
	}

	static <T> Call<T> start(Callable<T> action) {
		return new Call<>(action);
	}

	/** Do it on another thread, and wait for it. */
	static <T> T onAnotherThread(Callable<T> action) throws Exception {
		return start(action).get();
	}

	void interrupt() {
		this.thread.interrupt();
	}

	boolean isDone() {
		return this.task.isDone();
	}

	/** Wait for what comes of it, or throw what it threw. */
	T get() throws Exception {
		try {
			return this.task.get(Fleet.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof Exception cause) {
				throw cause;
			}
			throw ex;
		}
		catch (TimeoutException ex) {
			throw new AssertionError("The call has not ended within " + Fleet.PATIENCE, ex);
		}
	}

}
