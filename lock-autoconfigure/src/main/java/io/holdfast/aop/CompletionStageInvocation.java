package io.holdfast.aop;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import io.holdfast.LeaseContext;
import io.holdfast.async.CallResult;
import org.jspecify.annotations.Nullable;

/**
 * Call of a method that returns a stage. The leases are acquired without blocking the
 * caller. The method is then called on the thread that completes the acquisition, a
 * Holdfast thread that may block. The leases are held until the method's stage is
 * completed, even if the caller has gone. At most one thread at a time works on a call.
 */
final class CompletionStageInvocation {

	private final AnnotatedMethod method;

	private final MethodCall call;

	/** Result for the caller, completed after all leases are released. */
	private final CallResult<@Nullable Object> result = new CallResult<>();

	/** Create the invocation. */
	CompletionStageInvocation(AnnotatedMethod method, MethodCall call) {
		this.method = method;
		this.call = call;
	}

	/**
	 * Acquire the leases, and then call the method. Does not block.
	 * @return a future of the result; cancelling it ends the wait
	 */
	CompletableFuture<@Nullable Object> start() {
		// Read the transaction on the caller's thread: the method runs on another thread.
		TransactionShare share = this.call.joinsTransaction() ? SpringTransactionBinding.current() : null;
		LeaseContext current = LeaseContext.current();
		CompletableFuture<LeaseContext> acquisition = this.call
			.acquireAsync((share != null) ? current.within(share) : current, share);
		this.result.followCaller();
		this.result.cancelIfCallerGoes(acquisition);
		acquisition.whenComplete(
				(context, failure) -> this.result.runOffCallerThread(acquisition, () -> answered(context, failure)));
		return this.result.future();
	}

	/**
	 * Acquire the leases and call the method on the current thread, which blocks. The
	 * leases belong to this thread. The thread must therefore wait for the result, or its
	 * next call would get nested leases.
	 */
	CompletableFuture<@Nullable Object> startHere() {
		LeaseContext context = null;
		Throwable failure = null;
		try {
			context = this.call.observed(() -> {
				this.call.acquire();
				return this.call.context(LeaseContext.current());
			});
		}
		catch (Throwable ex) {
			failure = ex;
		}
		this.result.followCaller();
		answered(context, failure);
		return this.result.future();
	}

	/** Call the method with its leases, or take a result in place of the method's. */
	private void answered(@Nullable LeaseContext context, @Nullable Throwable failure) {
		if (this.result.future().isDone()) {
			// The caller has cancelled.
			if (context != null) {
				this.call.discard();
			}
			complete(null, failure);
		}
		else if (context == null) {
			Throwable cause = CallResult.cause(Objects.requireNonNull(failure));
			CallResult
				.<@Nullable Object>follow(
						() -> stage(this.call.observed(() -> this.call.instead(cause)), "The fallback of "))
				.whenComplete(this::complete);
		}
		else {
			this.result.markAbandonedIfCallerGoes(this.call.leases.stream().map(MethodLease::lease).toList());
			CallResult.<@Nullable Object>follow(() -> run(context)).whenComplete(this::end);
		}
	}

	private CompletionStage<?> run(LeaseContext context) throws Throwable {
		CompletionStage<?> stage = stage(this.call.observed(() -> this.call.proceed(context)), "");
		this.call.onLoss(() -> CallResult.cancel(stage));
		return stage;
	}

	private CompletionStage<?> stage(@Nullable Object returned, String whose) {
		if (returned instanceof CompletionStage<?> stage) {
			return stage;
		}
		throw new IllegalStateException(
				whose + this.method + " returned null: it has to return a stage, which may be completed with null");
	}

	/** End the leases, and then complete the caller's result. */
	private void end(@Nullable Object value, @Nullable Throwable failure) {
		this.result.ended();
		this.call.endAsync(failure, failure == null).thenAccept((outcome) -> complete(value, outcome));
	}

	private void complete(@Nullable Object value, @Nullable Throwable failure) {
		Throwable cause = (failure != null) ? CallResult.cause(failure) : null;
		this.call.endObservation(cause, () -> this.result.complete(value, cause));
	}

}
