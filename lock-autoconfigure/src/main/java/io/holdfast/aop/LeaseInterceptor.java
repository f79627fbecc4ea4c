package io.holdfast.aop;

import java.util.List;

import io.holdfast.aop.Guard.Held;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;

/**
 * Holds around the invocation of a method all that its annotations ask for: acquired in
 * the order of their guards, released in the reverse order.
 */
final class LeaseInterceptor implements MethodInterceptor {

	private final List<Guard<?, ?, ?>> guards;

	LeaseInterceptor(List<Guard<?, ?, ?>> guards) {
		this.guards = guards;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		return invoke(invocation, targetClass, 0);
	}

	private @Nullable Object invoke(MethodInvocation invocation, Class<?> targetClass, int index) throws Throwable {
		if (index == this.guards.size()) {
			return invocation.proceed();
		}
		Held held = this.guards.get(index).acquire(invocation, targetClass);
		try {
			return invoke(invocation, targetClass, index + 1);
		}
		finally {
			if (held != null) {
				held.release();
			}
		}
	}

}
