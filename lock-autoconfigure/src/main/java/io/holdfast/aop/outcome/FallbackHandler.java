package io.holdfast.aop.outcome;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import io.holdfast.HoldfastException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.KotlinDetector;

/**
 * Calls another method of the target.
 *
 * @param method the method, accessible
 * @param withException whether its last parameter is for the exception
 */
public record FallbackHandler(Method method, boolean withException) implements NotAcquiredHandler {

	/** Return whether the method can be called for a kind of exception. */
	public boolean handles(Class<? extends HoldfastException> failure) {
		int last = this.method.getParameterCount() - (isSuspending() ? 2 : 1);
		return !this.withException || this.method.getParameterTypes()[last].isAssignableFrom(failure);
	}

	/** The last parameter of a suspending function is its continuation. */
	private boolean isSuspending() {
		return KotlinDetector.isSuspendingFunction(this.method);
	}

	@Override
	public @Nullable Object take(MethodInvocation call, HoldfastException ex) throws Throwable {
		boolean suspendingCall = KotlinDetector.isSuspendingFunction(call.getMethod());
		List<@Nullable Object> values = new ArrayList<>(Arrays.asList(call.getArguments()));
		Object continuation = suspendingCall ? values.remove(values.size() - 1) : null;
		if (this.withException) {
			values.add(ex);
		}
		if (isSuspending()) {
			values.add(continuation);
			// Gives a publisher of the result.
			return AopUtils.invokeJoinpointUsingReflection(receiver(call), this.method, values.toArray());
		}
		@Nullable Object[] arguments = values.toArray();
		try {
			return this.method.invoke(receiver(call), arguments);
		}
		catch (InvocationTargetException failure) {
			throw failure.getTargetException();
		}
	}

	/**
	 * Return the object behind all proxies, for which private methods work; but methods
	 * of an interface that it does not implement are the proxy's.
	 */
	private @Nullable Object receiver(MethodInvocation call) {
		Object target = call.getThis();
		for (Object behind = target; behind != null; behind = AopProxyUtils.getSingletonTarget(behind)) {
			target = behind;
		}
		if (!this.method.getDeclaringClass().isInstance(target) && call instanceof ProxyMethodInvocation proxied) {
			return proxied.getProxy();
		}
		return target;
	}

}
