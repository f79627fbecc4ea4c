package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
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

	/** Number of held leases, the outermost first. */
	private int held;

	private LeaseContext context = LeaseContext.current();

	/** Transaction of the caller, or {@code null} if it has none or no lease joins it. */
	private @Nullable TransactionShare transaction;

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
		if (share != null) {
			this.context = this.context.within(share);
			this.transaction = share;
		}
		this.result.followCaller();
		acquireNext();
		return this.result.future();
	}

	/**
	 * Acquire the leases and call the method on the current thread, which blocks. The
	 * leases belong to this thread. The thread must therefore wait for the result, or its
	 * next call would get nested leases.
	 */
	@Nullable Object startHere() throws Throwable {
		Object instead;
		try {
			instead = this.call.observed(this.call::acquire);
		}
		catch (Throwable ex) {
			this.call.endObservation(ex);
			throw ex;
		}
		if (instead != MethodCall.ACQUIRED) {
			endWith(() -> instead);
			return this.result.future();
		}
		this.held = this.call.leases.size();
		this.context = this.call.context(this.context);
		this.result.followCaller();
		callMethod();
		return this.result.future();
	}

	private void acquireNext() {
		if (this.held == this.call.leases.size()) {
			callMethod();
			return;
		}
		MethodLease lease = this.call.leases.get(this.held);
		CompletableFuture<Lease> acquisition = this.call.acquireAsync(lease, this.context, this.transaction);
		this.result.cancelIfCallerGoes(acquisition);
		acquisition.whenComplete((granted, failure) -> this.result.runOffCallerThread(acquisition, () -> {
			if (failure != null) {
				notAcquired(lease, CallResult.cause(failure));
			}
			else {
				this.held++;
				this.context = this.context.with(granted);
				acquireNext();
			}
		}));
	}

	private void notAcquired(MethodLease lease, Throwable failure) {
		this.call.discard(this.held);
		if (!(failure instanceof HoldfastException ex) || this.result.future().isDone()) {
			complete(null, failure);
			return;
		}
		endWith(() -> this.call.observed(() -> lease.resultWithoutLease(ex)));
	}

	/** End the call with the stage of a fallback. */
	private void endWith(CallResult.Code<Object> fallback) {
		CallResult.<@Nullable Object>follow(() -> stage(fallback.run(), "The fallback of "))
			.whenComplete(this::complete);
	}

	private void callMethod() {
		if (this.result.future().isDone()) {
			// The caller has cancelled.
			this.call.discard(this.held);
			complete(null, null);
			return;
		}
		this.result.markAbandonedIfCallerGoes(this.call.leases.stream().map(MethodLease::lease).toList());
		CallResult.<@Nullable Object>follow(this::run).whenComplete(this::end);
	}

	private CompletionStage<?> run() throws Throwable {
		CompletionStage<?> stage = stage(this.call.observed(() -> this.call.proceed(this.context)), "");
		this.call.leases.stream()
			.filter((lease) -> lease.onLoss() == OnLoss.INTERRUPT)
			.forEach((lease) -> lease.lease().onLost(() -> CallResult.cancel(stage)));
		return stage;
	}

	private CompletionStage<?> stage(@Nullable Object returned, String whose) {
		if (returned instanceof CompletionStage<?> stage) {
			return stage;
		}
		throw new IllegalStateException(
				whose + this.method + " returned null: it has to return a stage, which may be completed with null");
	}

	/** End the leases, the innermost first, and then complete the caller's result. */
	private void end(@Nullable Object value, @Nullable Throwable failure) {
		this.result.ended();
		if (this.held == 0) {
			complete(value, failure);
			return;
		}
		MethodLease innermost = this.call.leases.get(--this.held);
		innermost.endAsync(failure).whenComplete((exception, unexpected) -> end(value, exception));
	}

	private void complete(@Nullable Object value, @Nullable Throwable failure) {
		Throwable cause = (failure != null) ? CallResult.cause(failure) : null;
		this.call.endObservation(cause, () -> this.result.complete(value, cause));
	}

}
