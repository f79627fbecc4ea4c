package io.holdfast.async;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

/**
 * Utilities for the results of asynchronous calls.
 */
public final class CallResult {

	/** Threads for futures without an engine, and for failures of a call. */
	private static final DaemonThreads THREADS = new DaemonThreads();

	private CallResult() {
	}

	/** Complete a future with a value or a failure. */
	public static <T extends @Nullable Object> void complete(CompletableFuture<T> future, @Nullable T value,
			@Nullable Throwable failure) {
		if (failure != null) {
			future.completeExceptionally(failure);
		}
		else {
			future.complete(value);
		}
	}

	/**
	 * Run code that returns a stage, and return a future of the stage's outcome. The
	 * future always completes, once, even if the code or the registration of a callback
	 * throws an exception: leases are held until then.
	 * @return a future that is completed as the stage is, or fails with the exception of
	 * the code
	 */
	public static <T extends @Nullable Object> CompletableFuture<T> follow(
			Code<? extends CompletionStage<? extends T>> code) {
		CompletableFuture<T> end = new CompletableFuture<>();
		try {
			Objects.requireNonNull(code.run())
				.whenComplete((value, failure) -> complete(end, value, (failure != null) ? cause(failure) : null));
		}
		catch (Throwable ex) {
			end.completeExceptionally(ex);
		}
		return end;
	}

	/** Cancel a stage, if it supports cancellation. */
	public static void cancel(CompletionStage<?> stage) {
		CompletableFuture<?> future;
		try {
			future = stage.toCompletableFuture();
		}
		catch (RuntimeException ex) {
			// Usually an UnsupportedOperationException.
			return;
		}
		future.cancel(true);
	}

	/**
	 * Run an action on another thread.
	 * @param awaited the future that the action has waited for, which has the engine's
	 * threads
	 */
	public static void runOnOtherThread(CompletableFuture<?> awaited, Runnable action) {
		if (awaited instanceof EngineFuture<?> future) {
			future.threads().execute(action);
		}
		else {
			runOnNewThread(action);
		}
	}

	/**
	 * Run an action on a new thread.
	 */
	public static void runOnNewThread(Runnable action) {
		THREADS.createForCode(action, "").start();
	}

	/**
	 * Return the cause of a {@link CompletionException}, or the given error.
	 */
	public static Throwable cause(Throwable failure) {
		return (failure instanceof CompletionException && failure.getCause() != null) ? failure.getCause() : failure;
	}

	/**
	 * Code that may throw any exception.
	 *
	 * @param <T> the type of the code's value
	 */
	@FunctionalInterface
	public interface Code<T> {

		/** Run the code. */
		@Nullable T run() throws Throwable;

	}

}
