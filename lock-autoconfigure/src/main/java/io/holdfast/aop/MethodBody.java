package io.holdfast.aop;

import java.util.List;

import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
import io.holdfast.async.PromptAction;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.core.KotlinDetector;

/**
 * The method itself, on the current thread: under its leases, and interrupted by the loss
 * of a lease that it is to end with.
 *
 * <p>
 * Where a bean's proxy is the target of another one, and both have the advice, the outer
 * one has acquired the leases, outside of all other advice: the inner one has to tell the
 * second half of a call from a call of its own.
 */
final class MethodBody {

	/** The proxy that a call of this thread is to reach next. */
	private static final ThreadLocal<Object> NEXT = new ThreadLocal<>();

	private MethodBody() {
	}

	/** Run the method. */
	static @Nullable Object run(MethodInvocation invocation, LeaseContext context, List<MethodLease<?, ?>> leases)
			throws Throwable {
		LeaseContext.Scope scope = context.open();
		LossInterrupt interrupt = null;
		Throwable failure = null;
		try {
			for (int i = 0; i < leases.size(); i++) {
				MethodLease<?, ?> each = leases.get(i);
				if (each.onLoss() == OnLoss.INTERRUPT) {
					interrupt = (interrupt != null) ? interrupt : new LossInterrupt();
					each.lease().onLost((PromptAction) interrupt::lost);
				}
			}
			return proceed(invocation);
		}
		catch (Throwable ex) {
			failure = ex;
			throw ex;
		}
		finally {
			if (interrupt != null) {
				interrupt.end(failure);
			}
			scope.close();
		}
	}

	/** Proceed under the acquired leases. */
	static @Nullable Object proceed(MethodInvocation invocation) throws Throwable {
		Object outer = NEXT.get();
		Object next = (invocation.getThis() instanceof Advised) ? invocation.getThis() : null;
		if (outer == null && next == null) {
			return invocation.proceed();
		}
		set(next);
		try {
			return invocation.proceed();
		}
		finally {
			// This may be a call within an outer one that has yet to reach its target.
			set(outer);
		}
	}

	private static void set(@Nullable Object next) {
		if (next != null) {
			NEXT.set(next);
		}
		else {
			NEXT.remove();
		}
	}

	/**
	 * Take note that a call has reached the proxy that it is meant for. Suspending
	 * functions know this by their coroutine: another one may be resumed between the two
	 * proxies.
	 * @return whether it has, and so has its leases; once for each call
	 */
	static boolean takeReached(MethodInvocation invocation) {
		Object next = NEXT.get();
		if (next == null || !(invocation instanceof ProxyMethodInvocation proxied) || proxied.getProxy() != next
				|| KotlinDetector.isSuspendingFunction(invocation.getMethod())) {
			return false;
		}
		// Calls by the method are calls of their own.
		NEXT.remove();
		return true;
	}

}
