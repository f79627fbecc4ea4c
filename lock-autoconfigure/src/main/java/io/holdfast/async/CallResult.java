package io.holdfast.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

/**
 * The result of an asynchronous call that acquires leases, runs code of the user, and
 * releases them. If the caller completes it, that ends what the call waits for. One
 * thread at a time works at a call, which begins on the thread of its caller.
 *
 * @param <R> the type of the value
 */
public final class CallResult<R extends @Nullable Object> {

	private final Thread caller = Thread.currentThread();

	/** What the caller gets. */
	private final CompletableFuture<R> future = new CompletableFuture<>();

	/** What is to be cancelled if the caller gives up. */
	private volatile @Nullable CompletableFuture<?> pending;

	/** Return the future of the caller. */
	public CompletableFuture<R> future() {
		return this.future;
	}

	/** Pass on what the caller does to the result to what the call waits for. */
	public void followCaller() {
		this.future.whenComplete((value, failure) -> cancelPending());
	}

	/** Note that the call waits for a stage from now on. */
	public void await(CompletionStage<?> stage) {
		try {
			this.pending = stage.toCompletableFuture();
		}
		catch (RuntimeException ex) {
			// It cannot be cancelled, most likely by an UnsupportedOperationException.
			this.pending = null;
		}
		if (this.future.isDone()) {
			cancelPending();
		}
	}

	/** Cancel what the call waits for. */
	public void cancelPending() {
		CompletableFuture<?> current = this.pending;
		if (current != null) {
			current.cancel(true);
		}
	}

	/**
	 * Go on with code that may block. The caller's thread is not to be blocked by it,
	 * also if there was nothing to wait for.
	 */
	public void awayFromCaller(Runnable action) {
		if (Thread.currentThread() != this.caller) {
			action.run();
		}
		else {
			onNewThread(action);
		}
	}

	/**
	 * Run code on a thread of its own; or on this one, if no threads are left: what was
	 * acquired must not be lost.
	 */
	public static void onNewThread(Runnable action) {
		Thread thread = new Thread(action, "holdfast-call");
		thread.setDaemon(true);
		try {
			thread.start();
		}
		catch (OutOfMemoryError ex) {
			action.run();
		}
	}

	/**
	 * Return what a stage failed with, without what a dependent stage wraps around it.
	 */
	public static Throwable cause(Throwable failure) {
		return (failure instanceof CompletionException && failure.getCause() != null) ? failure.getCause() : failure;
	}

}
