package io.holdfast.async;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

/**
 * Result of an asynchronous call that acquires leases, runs the user's code, and releases
 * the leases. A caller that completes the result ends the wait for a lease. Code that has
 * begun is not cancelled, because its stage may be shared, and its work may go on after a
 * cancellation. At most one thread at a time works on a call. Must be created on the
 * caller's thread.
 *
 * @param <R> the type of the value
 */
public final class CallResult<R extends @Nullable Object> {

	private static final Runnable NOTHING = () -> {
	};

	/** Threads for futures without an engine, and for failures of a call. */
	private static final DaemonThreads THREADS = new DaemonThreads();

	private final Thread caller = Thread.currentThread();

	/** Future of the caller. */
	private final CompletableFuture<R> future = new CompletableFuture<>();

	/** Action to run if the caller completes the future before the end of the call. */
	private volatile Runnable onCallerGone = NOTHING;

	/** Return the caller's future. */
	public CompletableFuture<R> future() {
		return this.future;
	}

	/** Start watching for a completion by the caller. */
	public void followCaller() {
		this.future.whenComplete((value, failure) -> this.onCallerGone.run());
	}

	/**
	 * Cancel the wait for a lease if the caller completes the future.
	 */
	public void cancelIfCallerGoes(CompletableFuture<?> awaited) {
		ifCallerGoes(() -> awaited.cancel(true));
	}

	/**
	 * Mark the leases of the running code as abandoned if the caller completes the
	 * future. The leases are kept.
	 */
	public void markAbandonedIfCallerGoes(List<?> leases) {
		ifCallerGoes(() -> leases.forEach((lease) -> {
			if (lease instanceof LeaseInternals aware) {
				aware.markCallerGone();
			}
		}));
	}

	private void ifCallerGoes(Runnable consequence) {
		this.onCallerGone = consequence;
		if (this.future.isDone()) {
			consequence.run();
		}
	}

	/** Note that the code has ended. */
	public void ended() {
		this.onCallerGone = NOTHING;
	}

	/** Complete the caller's future. */
	public void complete(@Nullable R value, @Nullable Throwable failure) {
		complete(this.future, value, failure);
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
	 * Run an action that may block, on the current thread if it is not the caller's
	 * thread. The action never blocks the caller's thread, even if there was nothing to
	 * wait for.
	 * @param awaited the future that the action has waited for, which has the engine's
	 * threads
	 */
	public void runOffCallerThread(CompletableFuture<?> awaited, Runnable action) {
		if (Thread.currentThread() != this.caller) {
			action.run();
		}
		else {
			runOnOtherThread(awaited, action);
		}
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
