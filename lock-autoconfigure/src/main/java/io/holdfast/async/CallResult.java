package io.holdfast.async;

import java.util.List;
import java.util.Objects;
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

	private static final Runnable NOTHING = () -> {
	};

	/** For futures of other implementations of a service, and for failures of a call. */
	private static final DaemonThreads THREADS = new DaemonThreads();

	private final Thread caller = Thread.currentThread();

	/** The outcome for the caller. */
	private final CompletableFuture<R> future = new CompletableFuture<>();

	/** The consequence for the call if its caller goes before the end. */
	private volatile Runnable onCallerGone = NOTHING;

	/** Return the future of the caller. */
	public CompletableFuture<R> future() {
		return this.future;
	}

	/** Notice from now on that the caller completes the result. */
	public void followCaller() {
		this.future.whenComplete((value, failure) -> this.onCallerGone.run());
	}

	/** Note that the call waits for a lease from now on, until its caller goes. */
	public void waitsFor(CompletableFuture<?> asked) {
		ifCallerGoes(() -> asked.cancel(true));
	}

	/**
	 * Note that the code runs from now on: if its caller goes, its leases are kept, and
	 * marked.
	 */
	public void runsUnder(List<?> leases) {
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

	/** Tell the caller the outcome. */
	public void complete(@Nullable R value, @Nullable Throwable failure) {
		complete(this.future, value, failure);
	}

	private static <T extends @Nullable Object> void complete(CompletableFuture<T> future, @Nullable T value,
			@Nullable Throwable failure) {
		if (failure != null) {
			future.completeExceptionally(failure);
		}
		else {
			future.complete(value);
		}
	}

	/**
	 * Run code that gives a stage, and follow that to its end, which comes once, also
	 * from a stage that refuses to be followed: the leases are held until then.
	 * @return completed as the stage is, or by the exception of the code
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
	 * @param asked the future that the code has waited for
	 */
	public void awayFromCaller(CompletableFuture<?> asked, Runnable action) {
		if (Thread.currentThread() != this.caller) {
			action.run();
		}
		else {
			onOtherThread(asked, action);
		}
	}

	/**
	 * Run code on another thread.
	 * @param asked the future that the code has waited for, whose engine has threads
	 */
	public static void onOtherThread(CompletableFuture<?> asked, Runnable action) {
		if (asked instanceof EngineFuture<?> future) {
			future.threads().execute(action);
		}
		else {
			onNewThread(action);
		}
	}

	/**
	 * Run code on a thread of its own.
	 */
	public static void onNewThread(Runnable action) {
		THREADS.createForCode(action, "").start();
	}

	/**
	 * Return the error of a stage, without the wrapper of a dependent stage.
	 */
	public static Throwable cause(Throwable failure) {
		return (failure instanceof CompletionException && failure.getCause() != null) ? failure.getCause() : failure;
	}

	/**
	 * Code that may throw anything.
	 *
	 * @param <T> the type of its value
	 */
	@FunctionalInterface
	public interface Code<T> {

		/** Run it. */
		@Nullable T run() throws Throwable;

	}

}
