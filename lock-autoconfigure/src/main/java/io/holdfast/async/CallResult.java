package io.holdfast.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

/**
 * The result of an asynchronous call that acquires leases, runs code of the user, and
 * releases them. A caller that completes it ends a wait for a lease, but not code that
 * has begun: others may share its stage, and its work may go on after a cancellation. One
 * thread at a time works at a call, which begins on the thread of its caller.
 *
 * @param <R> the type of the value
 */
public final class CallResult<R extends @Nullable Object> {

	private final Thread caller = Thread.currentThread();

	/** What the caller gets. */
	private final CompletableFuture<R> future = new CompletableFuture<>();

	/** The lease that the call waits for, or has waited for. */
	private volatile @Nullable CompletableFuture<?> asked;

	/** Return the future of the caller. */
	public CompletableFuture<R> future() {
		return this.future;
	}

	/** Notice from now on that the caller completes the result. */
	public void followCaller() {
		this.future.whenComplete((value, failure) -> {
			CompletableFuture<?> current = this.asked;
			if (current != null) {
				current.cancel(true);
			}
		});
	}

	/** Note that the call waits for a lease from now on, until its caller goes. */
	public void waitsFor(CompletableFuture<?> asked) {
		this.asked = asked;
		if (this.future.isDone()) {
			asked.cancel(true);
		}
	}

	/** Cancel a stage, if it can be. */
	public static void cancel(CompletionStage<?> stage) {
		CompletableFuture<?> future;
		try {
			future = stage.toCompletableFuture();
		}
		catch (RuntimeException ex) {
			// Most likely an UnsupportedOperationException.
			return;
		}
		future.cancel(true);
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
