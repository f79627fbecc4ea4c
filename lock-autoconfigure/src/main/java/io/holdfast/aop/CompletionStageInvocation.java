package io.holdfast.aop;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.async.AsyncCall;
import io.holdfast.async.CallResult;
import org.jspecify.annotations.Nullable;

/**
 * Call of a method that returns a stage. The leases are acquired without blocking the
 * caller. The method is then called on the thread that completes the acquisition, a
 * Holdfast thread that may block. The leases are held until the method's stage is
 * completed, even if the caller has gone.
 */
final class CompletionStageInvocation extends AsyncCall<LeaseContext, @Nullable Object> {

	private final AnnotatedMethod method;

	private final MethodCall call;

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
		return start(this.call.acquireAsync((share != null) ? current.within(share) : current, share),
				Function.identity(), false);
	}

	/**
	 * Acquire the leases and call the method on the current thread, which blocks. The
	 * leases belong to this thread. The thread must therefore wait for the result, or its
	 * next call would get nested leases.
	 */
	CompletableFuture<@Nullable Object> startHere() {
		return start(CallResult.follow(() -> CompletableFuture.completedFuture(this.call.observed(() -> {
			this.call.acquire();
			return this.call.context(LeaseContext.current());
		}))), Function.identity(), true);
	}

	@Override
	protected List<Lease> leases(LeaseContext held) {
		return this.call.leases.stream().map(MethodLease::lease).toList();
	}

	@Override
	protected CompletionStage<?> run(LeaseContext held) throws Throwable {
		CompletionStage<?> stage = stage(this.call.observed(() -> this.call.proceed(held)), "");
		this.call.onLoss(() -> CallResult.cancel(stage));
		return stage;
	}

	@Override
	protected CompletionStage<?> instead(@Nullable Throwable failure) throws Throwable {
		return stage(this.call.observed(() -> this.call.instead(Objects.requireNonNull(failure))), "The fallback of ");
	}

	private CompletionStage<?> stage(@Nullable Object returned, String whose) {
		if (returned instanceof CompletionStage<?> stage) {
			return stage;
		}
		throw new IllegalStateException(
				whose + this.method + " returned null: it has to return a stage, which may be completed with null");
	}

	@Override
	protected void discard(LeaseContext held) {
		this.call.discard();
	}

	@Override
	protected CompletableFuture<@Nullable Throwable> end(LeaseContext held, @Nullable Throwable failure) {
		return this.call.endAsync(failure, failure == null);
	}

	@Override
	protected void complete(@Nullable Object value, @Nullable Throwable failure) {
		Throwable cause = (failure != null) ? CallResult.cause(failure) : null;
		this.call.endObservation(cause, () -> super.complete(value, cause));
	}

}
