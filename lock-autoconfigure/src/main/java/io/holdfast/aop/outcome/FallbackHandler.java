package io.holdfast.aop.outcome;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;

import io.holdfast.NotAcquiredException;
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

	@Override
	public @Nullable Object take(MethodInvocation call, NotAcquiredException ex) throws Throwable {
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
