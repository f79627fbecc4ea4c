package io.holdfast.aop.outcome;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;

import io.holdfast.HoldfastException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.AopProxyUtils;

/**
 * Calls another method of the target.
 *
 * @param method the method, accessible
 * @param withException whether its last parameter is for the exception
 */
public record FallbackHandler(Method method, boolean withException) implements NotAcquiredHandler {

	/**
	 * Return whether the method can be called for a kind of exception.
	 * @param failure the type of the exception
	 * @return whether it takes none, or one of that type
	 */
	public boolean handles(Class<? extends HoldfastException> failure) {
		int parameters = this.method.getParameterCount();
		return !this.withException || this.method.getParameterTypes()[parameters - 1].isAssignableFrom(failure);
	}

	@Override
	public @Nullable Object take(MethodInvocation call, HoldfastException ex) throws Throwable {
		@Nullable Object[] arguments = call.getArguments();
		if (this.withException) {
			arguments = Arrays.copyOf(arguments, arguments.length + 1);
			arguments[arguments.length - 1] = ex;
		}
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
