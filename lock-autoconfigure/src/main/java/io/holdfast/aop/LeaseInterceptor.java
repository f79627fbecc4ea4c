package io.holdfast.aop;

import java.util.ArrayList;
import java.util.List;

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
		List<Step> steps = steps(invocation);
		if (steps.isEmpty()) {
			return invocation.proceed();
		}
		return switch (steps.get(0).resultKind()) {
			case PLAIN -> new PlainCall(invocation, steps).run();
			case LATER -> throw new IllegalStateException("Refused at start-up");
		};
	}

	/** All expressions are evaluated before anything is acquired. */
	private List<Step> steps(MethodInvocation invocation) {
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		List<Step> steps = new ArrayList<>(this.guards.size());
		for (Guard<?, ?, ?> guard : this.guards) {
			Step step = guard.step(invocation, targetClass);
			if (step != null) {
				steps.add(step);
			}
		}
		return steps;
	}

}
