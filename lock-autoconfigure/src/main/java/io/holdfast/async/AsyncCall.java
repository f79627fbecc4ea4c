package io.holdfast.async;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

/**
 * Asynchronous call that acquires leases, runs code that returns a stage, and ends the
 * leases when the stage is completed. A caller that completes its future ends the wait
 * for the leases. Code that has begun is not cancelled, because its stage may be shared,
 * and its work may go on after a cancellation. At most one thread at a time works on a
 * call. Must be created on the caller's thread.
 *
 * @param <H> the type of the held leases
 * @param <R> the type of the caller's value
 */
public abstract class AsyncCall<H, R extends @Nullable Object> {

	private static final Runnable NOTHING = () -> {
	};

	private final Thread caller = Thread.currentThread();

	/** Future of the caller. */
	private final CompletableFuture<R> result = new CompletableFuture<>();

	/** Action to run if the caller completes the future before the end of the call. */
	private volatile Runnable onCallerGone = NOTHING;

	/** Return the leases that are held, for their marks if the caller has gone. */
	protected abstract List<?> leases(H held);

	/** Run the code under the leases, on a thread that may block. */
	protected abstract CompletionStage<? extends R> run(H held) throws Throwable;

	/**
	 * Return a stage in place of that of the code.
	 * @param failure the failure of the acquisition, or {@code null} if nothing was
	 * acquired
	 */
	protected abstract CompletionStage<? extends R> instead(@Nullable Throwable failure) throws Throwable;

	/** Release leases under which no code runs, without blocking. */
	protected abstract void discard(H held);

	/**
	 * End the leases after the code, without blocking.
	 * @return a future of the failure for the caller, or of {@code null}; never fails
	 */
	protected abstract CompletableFuture<@Nullable Throwable> end(H held, @Nullable Throwable failure);

	/** Complete the caller's future. */
	protected void complete(@Nullable R value, @Nullable Throwable failure) {
		CallResult.complete(this.result, value, failure);
	}

	/**
	 * Run the code when the leases are acquired.
	 * @param acquisition the future of the answer, which is cancelled to end the wait
	 * @param leases returns the leases of the answer, or {@code null} for none
	 * @param here whether the code may run on the caller's thread. Otherwise the code
	 * never blocks this thread, even if there was nothing to wait for
	 * @return the future of the caller
	 */
	protected final <A> CompletableFuture<R> start(CompletableFuture<A> acquisition, Function<A, @Nullable H> leases,
			boolean here) {
		this.result.whenComplete((value, failure) -> this.onCallerGone.run());
		ifCallerGoes(() -> acquisition.cancel(true));
		acquisition.whenComplete((answer, failure) -> {
			Runnable answered = () -> answered((answer != null) ? leases.apply(answer) : null, failure);
			if (here || Thread.currentThread() != this.caller) {
				answered.run();
			}
			else {
				CallResult.runOnOtherThread(acquisition, answered);
			}
		});
		return this.result;
	}

	private void ifCallerGoes(Runnable consequence) {
		this.onCallerGone = consequence;
		if (this.result.isDone()) {
			consequence.run();
		}
	}

	private void answered(@Nullable H held, @Nullable Throwable failure) {
		if (this.result.isDone()) {
			if (held != null) {
				discard(held);
			}
			complete(null, failure);
		}
		else if (held == null) {
			Throwable cause = (failure != null) ? CallResult.cause(failure) : null;
			CallResult.<R>follow(() -> instead(cause)).whenComplete(this::complete);
		}
		else {
			ifCallerGoes(() -> leases(held).forEach(AsyncCall::markCallerGone));
			CallResult.<R>follow(() -> run(held)).whenComplete((value, error) -> {
				this.onCallerGone = NOTHING;
				end(held, error).thenAccept((outcome) -> complete(value, outcome));
			});
		}
	}

	private static void markCallerGone(Object lease) {
		if (lease instanceof LeaseInternals aware) {
			aware.markCallerGone();
		}
	}

}
