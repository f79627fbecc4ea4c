package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
import io.holdfast.async.CallResult;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * A call of a method that returns a stage. Its leases are acquired without blocking the
 * caller; the method is called on the thread that completes the acquisition, one of
 * Holdfast's that may block. Its leases are kept until its stage is completed, also if
 * the caller has gone. One thread at a time works at a call.
 */
final class CompletionStageInvocation {

	private final MethodInvocation invocation;

	private final AnnotatedMethod method;

	private final List<MethodLease> methodLeases;

	/** Observes the call. */
	private final MethodCallObservation observation;

	/** Completed when all is released. */
	private final CallResult<@Nullable Object> result = new CallResult<>();

	/** Number of leases that are held: the first of the list. */
	private int held;

	private LeaseContext context = LeaseContext.current();

	/** That of the caller, if the leases belong to it. */
	private @Nullable TransactionShare transaction;

	/** Create the invocation of a method that returns a stage. */
	CompletionStageInvocation(MethodInvocation invocation, AnnotatedMethod method, List<MethodLease> methodLeases,
			MethodCallObservation observation) {
		this.invocation = invocation;
		this.method = method;
		this.methodLeases = methodLeases;
		this.observation = observation;
	}

	/**
	 * Call the method as soon as it may run. Does not block.
	 * @return the result to come; cancel it to end a wait
	 */
	CompletableFuture<@Nullable Object> start() {
		// Of the caller, whose thread this is: the method runs on another one.
		TransactionShare share = this.methodLeases.stream().anyMatch(MethodLease::joinsTransaction)
				? SpringTransactionBinding.current() : null;
		if (share != null) {
			this.context = this.context.within(share);
			this.transaction = share;
		}
		this.result.followCaller();
		acquireNext();
		return this.result.future();
	}

	/**
	 * Call the method on the current thread, which blocks until it may run. The leases
	 * belong to this thread: it must wait for the result, or else would enter again.
	 */
	@Nullable Object startHere() throws Throwable {
		try {
			Object given = this.observation.run(() -> LeaseInterceptor.acquire(this.methodLeases, this.observation));
			if (given != LeaseInterceptor.ACQUIRED) {
				endWith(() -> given);
				return this.result.future();
			}
		}
		catch (Throwable ex) {
			this.observation.ended(ex);
			throw ex;
		}
		this.methodLeases.forEach(this::hold);
		this.result.followCaller();
		call();
		return this.result.future();
	}

	private void acquireNext() {
		if (this.held == this.methodLeases.size()) {
			call();
			return;
		}
		MethodLease methodLease = this.methodLeases.get(this.held);
		CompletableFuture<Lease> asked = this.observation
			.ask(() -> methodLease.acquireAsync(this.context, this.transaction));
		this.result.waitsFor(asked);
		asked.whenComplete((granted, failure) -> this.result.awayFromCaller(asked, () -> {
			if (failure != null) {
				notAcquired(methodLease, CallResult.cause(failure));
			}
			else {
				if (methodLease.isUnguarded()) {
					this.observation.unguarded();
				}
				hold(methodLease);
				acquireNext();
			}
		}));
	}

	private void hold(MethodLease granted) {
		this.held++;
		this.context = this.context.with(granted.lease());
	}

	private void discard() {
		while (this.held > 0) {
			this.methodLeases.get(--this.held).discard();
		}
	}

	private void notAcquired(MethodLease methodLease, Throwable failure) {
		discard();
		if (!(failure instanceof HoldfastException ex) || this.result.future().isDone()) {
			complete(null, failure);
			return;
		}
		endWith(() -> this.observation.run(() -> methodLease.instead(ex)));
	}

	/** End the call with the stage that is given instead of the method's. */
	private void endWith(CallResult.Code<Object> given) {
		CallResult.<@Nullable Object>follow(() -> stage(given.run(), "The fallback of ")).whenComplete(this::complete);
	}

	private void call() {
		if (this.result.future().isDone()) {
			// Its caller has cancelled.
			discard();
			complete(null, null);
			return;
		}
		this.result.runsUnder(this.methodLeases.stream().map(MethodLease::lease).toList());
		CallResult.<@Nullable Object>follow(this::run).whenComplete(this::end);
	}

	private CompletionStage<?> run() throws Throwable {
		CompletionStage<?> stage = stage(
				this.observation.run(() -> LeaseInterceptor.run(this.invocation, this.context, this.methodLeases)), "");
		this.methodLeases.stream()
			.filter((each) -> each.onLoss() == OnLoss.INTERRUPT)
			.forEach((each) -> each.lease().onLost(() -> CallResult.cancel(stage)));
		return stage;
	}

	private CompletionStage<?> stage(@Nullable Object returned, String whose) {
		if (returned instanceof CompletionStage<?> stage) {
			return stage;
		}
		throw new IllegalStateException(
				whose + this.method + " returned null: it has to return a stage, which may be completed with null");
	}

	/** End the leases, the innermost first, and then tell the caller. */
	private void end(@Nullable Object value, @Nullable Throwable failure) {
		this.result.ended();
		if (this.held == 0) {
			complete(value, failure);
			return;
		}
		MethodLease innermost = this.methodLeases.get(--this.held);
		innermost.endAsync(failure).whenComplete((told, unexpected) -> end(value, told));
	}

	private void complete(@Nullable Object value, @Nullable Throwable failure) {
		Throwable told = (failure != null) ? CallResult.cause(failure) : null;
		this.observation.ended(told, () -> this.result.complete(value, told));
	}

}
