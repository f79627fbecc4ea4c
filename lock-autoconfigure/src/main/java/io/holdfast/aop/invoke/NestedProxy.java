package io.holdfast.aop.invoke;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.core.KotlinDetector;

/**
 * Tells the second half of a call from a call of its own where a bean's proxy is the
 * target of another one, and both have the advice: the outer one has acquired what the
 * call needs, outside of all other advice.
 */
public final class NestedProxy {

	/** The proxy that a call of this thread is to reach next. */
	private static final ThreadLocal<Object> NEXT = new ThreadLocal<>();

	private NestedProxy() {
	}

	/** Proceed with what was acquired. */
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
	 * @return whether it has, and so has what it needs; once for each call
	 */
	public static boolean takeReached(MethodInvocation invocation) {
		Object next = NEXT.get();
		if (next == null || !(invocation instanceof ProxyMethodInvocation proxied) || proxied.getProxy() != next
				|| KotlinDetector.isSuspendingFunction(invocation.getMethod())) {
			return false;
		}
		// What the method calls are calls of their own.
		NEXT.remove();
		return true;
	}

}
