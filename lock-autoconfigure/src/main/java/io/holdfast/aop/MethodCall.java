package io.holdfast.aop;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
import io.holdfast.async.CallResult;
import io.holdfast.async.DaemonThreads;
import io.holdfast.async.Guard;
import io.holdfast.async.PromptAction;
import io.micrometer.observation.Observation;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.core.KotlinDetector;

/**
 * Call of an annotated method that needs leases, or one subscription to its result: its
 * leases and its observation. Exceptions of the observer do not affect the call.
 *
 * <p>
 * If a bean's proxy is the target of another proxy, both may have the advice of leases.
 * The outer proxy then acquires the leases. The inner proxy must not acquire them again,
 * and has to distinguish such a call from a direct call.
 */
final class MethodCall {

	final MethodInvocation invocation;

	/** Leases, the outermost first. */
	final List<MethodLease> leases;

	final Observation observation;

	/** Guard against exceptions of the observer. */
	private final Guard guard;

	/**
	 * Inner proxy that the call must reach next, without acquiring leases again, or
	 * {@code null}. Guarded by this.
	 */
	private @Nullable Object innerProxy;

	/** Lease that was not acquired, or {@code null}. */
	private volatile @Nullable MethodLease refused;

	/**
	 * Create a call.
	 * @param observation the started observation, or {@link Observation#NOOP}
	 */
	MethodCall(MethodInvocation invocation, List<MethodLease> leases, Observation observation, Guard guard) {
		this.invocation = invocation;
		this.leases = leases;
		this.observation = observation;
		this.guard = guard;
		this.innerProxy = innerProxy(invocation);
	}

	/** Acquire the leases, run the method, and release the leases, on this thread. */
	@Nullable Object run() throws Throwable {
		try {
			Object result = observed(this::runWithLeases);
			endObservation(null);
			return result;
		}
		catch (Throwable ex) {
			endObservation(ex);
			throw ex;
		}
	}

	private @Nullable Object runWithLeases() throws Throwable {
		try {
			acquire();
		}
		catch (Throwable ex) {
			return instead(ex);
		}
		Object result = null;
		Throwable failure = null;
		try {
			result = proceed(context(LeaseContext.current()));
		}
		catch (Throwable ex) {
			failure = ex;
		}
		for (int i = this.leases.size() - 1; i >= 0; i--) {
			failure = this.leases.get(i).end(failure);
		}
		if (failure != null) {
			throw failure;
		}
		return result;
	}

	/** Acquire the leases for the current thread. */
	void acquire() throws Throwable {
		for (int i = 0; i < this.leases.size(); i++) {
			try {
				this.leases.get(i).acquire();
			}
			catch (Throwable ex) {
				refused(i);
				throw ex;
			}
		}
	}

	/**
	 * Acquire the leases one after the other, without blocking.
	 * @param outer the context of the caller
	 * @param transaction the caller's transaction, or {@code null}
	 * @return a future of the context with the leases, which fails with the exceptions of
	 * {@link #acquire()}. Cancelling it ends the wait and releases all leases
	 */
	CompletableFuture<LeaseContext> acquireAsync(LeaseContext outer, @Nullable TransactionShare transaction) {
		CompletableFuture<? extends Lease> first = request(0, outer);
		CompletableFuture<LeaseContext> result = first.newIncompleteFuture();
		await(first, 0, outer, transaction, result);
		return result;
	}

	private CompletableFuture<? extends Lease> request(int index, LeaseContext context) {
		try {
			return Objects.requireNonNull(observed(() -> this.leases.get(index).request(context)));
		}
		catch (Throwable ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	private void await(CompletableFuture<? extends Lease> request, int index, LeaseContext outer,
			@Nullable TransactionShare transaction, CompletableFuture<LeaseContext> result) {
		result.whenComplete((all, failure) -> request.cancel(true));
		request.whenComplete((granted, failure) -> {
			try {
				this.leases.get(index).answered(granted, failure, transaction);
			}
			catch (Throwable ex) {
				refused(index);
				result.completeExceptionally(ex);
				return;
			}
			LeaseContext context = outer.with(this.leases.get(index).lease());
			if (index + 1 < this.leases.size() && !result.isDone()) {
				await(request(index + 1, context), index + 1, context, transaction, result);
			}
			else if (!result.complete(context)) {
				discard(index + 1);
			}
		});
	}

	private void refused(int index) {
		this.refused = this.leases.get(index);
		discard(index);
	}

	/**
	 * Return the result of a call whose leases were not acquired.
	 * @param failure the failure of the acquisition
	 * @throws Throwable the failure, if there is no such result
	 */
	@Nullable Object instead(Throwable failure) throws Throwable {
		MethodLease lease = this.refused;
		if (lease == null || !(failure instanceof HoldfastException ex)) {
			throw failure;
		}
		return lease.resultWithoutLease(ex);
	}

	/** Discard all leases, because the method does not run. */
	void discard() {
		discard(this.leases.size());
	}

	/** Discard the first leases, the innermost first. */
	private void discard(int count) {
		for (int i = count - 1; i >= 0; i--) {
			this.leases.get(i).discard();
		}
	}

	/**
	 * End the leases after the method, the innermost first, without blocking.
	 * @param failure the failure of the method, or {@code null}
	 * @param completed whether the method has neither failed nor was cancelled
	 * @return a future of the exception for the caller, or of {@code null}; never fails
	 */
	CompletableFuture<@Nullable Throwable> endAsync(@Nullable Throwable failure, boolean completed) {
		CompletableFuture<@Nullable Throwable> end = CompletableFuture.completedFuture(failure);
		for (int i = this.leases.size() - 1; i >= 0; i--) {
			MethodLease lease = this.leases.get(i);
			end = end.thenCompose((outcome) -> lease.endAsync(outcome, completed));
		}
		return end;
	}

	/** Run an action on the loss of a lease with {@link OnLoss#INTERRUPT}. */
	void onLoss(Runnable action) {
		this.leases.stream()
			.filter((lease) -> lease.onLoss() == OnLoss.INTERRUPT)
			.forEach((lease) -> lease.lease().onLost(action));
	}

	/** Return the context of the method: an outer context with the leases. */
	LeaseContext context(LeaseContext outer) {
		LeaseContext context = outer;
		for (MethodLease lease : this.leases) {
			context = context.with(lease.lease());
		}
		return context;
	}

	/** Return whether one of the leases may join a transaction. */
	boolean joinsTransaction() {
		return this.leases.stream().anyMatch(MethodLease::joinsTransaction);
	}

	/**
	 * Run the method under its leases on the current thread. Interrupts the thread on the
	 * loss of a lease with {@link OnLoss#INTERRUPT}. The call is the owner of the scope,
	 * by which an inner proxy recognizes it.
	 */
	@Nullable Object proceed(LeaseContext context) throws Throwable {
		LeaseContext.Scope scope = context.open(this);
		LossInterrupt interrupt = null;
		try {
			for (int i = 0; i < this.leases.size(); i++) {
				MethodLease lease = this.leases.get(i);
				if (lease.onLoss() == OnLoss.INTERRUPT) {
					interrupt = (interrupt != null) ? interrupt : new LossInterrupt();
					lease.lease().onLost((PromptAction) interrupt::lost);
				}
			}
			return this.invocation.proceed();
		}
		finally {
			if (interrupt != null) {
				interrupt.end();
			}
			scope.close();
		}
	}

	/**
	 * Return the inner proxy: the next proxy with this advice behind the current proxy,
	 * or {@code null}. There may be other proxies in between, and the advice may be from
	 * another context.
	 */
	private static @Nullable Object innerProxy(MethodInvocation invocation) {
		Object target = invocation.getThis();
		while (target instanceof Advised proxy && Stream.of(proxy.getAdvisors())
			.noneMatch((advisor) -> advisor.getAdvice() instanceof LeaseInterceptor)) {
			target = AopProxyUtils.getSingletonTarget(target);
		}
		return (target instanceof Advised) ? target : null;
	}

	/**
	 * Return whether this call has arrived at its inner proxy, having acquired the leases
	 * at the outer proxy. Returns {@code true} once for each inner proxy: calls made by
	 * the method are new calls.
	 */
	synchronized boolean tryEnterInnerProxy(MethodInvocation invocation) {
		if (this.innerProxy == null || !(invocation instanceof ProxyMethodInvocation proxied)
				|| proxied.getProxy() != this.innerProxy || isSuspending(invocation) != isSuspending(this.invocation)) {
			// A coroutine may be resumed on the thread of a plain call.
			return false;
		}
		// There may be a third proxy.
		this.innerProxy = innerProxy(invocation);
		return true;
	}

	private static boolean isSuspending(MethodInvocation invocation) {
		return KotlinDetector.isSuspendingFunction(invocation.getMethod());
	}

	/** Run code of the call within the scope of the observation. */
	<T> @Nullable T observed(CallResult.Code<T> code) throws Throwable {
		if (this.observation.isNoop()) {
			return code.run();
		}
		Observation.Scope scope = this.guard.get(this.observation::openScope, () -> Observation.Scope.NOOP);
		try {
			return code.run();
		}
		finally {
			this.guard.run(scope::close);
		}
	}

	/** End the observation. */
	void endObservation(@Nullable Throwable failure) {
		if (this.observation.isNoop()) {
			return;
		}
		this.guard.run(() -> {
			if (this.leases.stream().anyMatch(MethodLease::isUnguarded)) {
				this.observation.getContext().put(MethodObserver.UNGUARDED, Boolean.TRUE);
			}
			if (failure != null) {
				this.observation.error(failure);
			}
			this.observation.stop();
		});
	}

	/**
	 * End the observation, and then run an action. Moves both to another thread if the
	 * current thread may not block, such as an event loop or a timer.
	 */
	void endObservation(@Nullable Throwable failure, Runnable then) {
		Runnable end = () -> {
			endObservation(failure);
			then.run();
		};
		if (this.observation.isNoop() || DaemonThreads.isForCode()) {
			end.run();
		}
		else {
			CallResult.runOnNewThread(end);
		}
	}

}
