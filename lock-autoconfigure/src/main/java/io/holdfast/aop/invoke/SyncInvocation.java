package io.holdfast.aop.invoke;

import java.util.List;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseContext;
import io.holdfast.aop.observe.MethodCallObservation;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * A call of a method that returns its result: all happens on the thread of the caller.
 */
public final class SyncInvocation {

	private final MethodInvocation invocation;

	private final List<MethodLease> methodLeases;

	/** The innermost last. */
	private final HeldMethodLease[] held;

	private int acquired;

	/** Create the invocation of a method that returns when its work is done. */
	public SyncInvocation(MethodInvocation invocation, List<MethodLease> methodLeases) {
		this.invocation = invocation;
		this.methodLeases = methodLeases;
		this.held = new HeldMethodLease[methodLeases.size()];
	}

	/** Acquire, run the method, and release. */
	public @Nullable Object run(MethodCallObservation observation) throws Throwable {
		if (observation == MethodCallObservation.NONE) {
			return acquireAndRun(observation);
		}
		Throwable failure = null;
		try {
			return observation.run(() -> acquireAndRun(observation));
		}
		catch (Throwable ex) {
			failure = ex;
			throw ex;
		}
		finally {
			observation.ended(failure);
		}
	}

	private @Nullable Object acquireAndRun(MethodCallObservation observation) throws Throwable {
		while (this.acquired < this.held.length) {
			MethodLease methodLease = this.methodLeases.get(this.acquired);
			try {
				HeldMethodLease acquired = methodLease.acquire();
				this.held[this.acquired++] = acquired;
				if (observation != MethodCallObservation.NONE && acquired.isUnguarded()) {
					observation.unguarded();
				}
			}
			catch (HoldfastException ex) {
				discard();
				return methodLease.instead(ex);
			}
			catch (Throwable ex) {
				discard();
				throw ex;
			}
		}
		Object result = null;
		Throwable failure = null;
		try {
			result = proceed();
		}
		catch (Throwable ex) {
			failure = ex;
		}
		for (int i = this.acquired - 1; i >= 0; i--) {
			failure = this.held[i].end(failure);
		}
		if (failure != null) {
			throw failure;
		}
		return result;
	}

	private @Nullable Object proceed() throws Throwable {
		LeaseContext context = LeaseContext.current();
		for (HeldMethodLease each : this.held) {
			context = context.with(each.lease());
		}
		return MethodBody.run(this.invocation, context, this.held);
	}

	private void discard() {
		for (int i = this.acquired - 1; i >= 0; i--) {
			this.held[i].discard();
		}
	}

}
