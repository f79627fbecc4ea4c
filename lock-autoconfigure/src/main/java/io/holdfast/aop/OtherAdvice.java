package io.holdfast.aop;

import java.lang.reflect.Method;

import io.holdfast.aop.method.AnnotatedMethod;
import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInvocation;

import org.springframework.aop.Advisor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.PointcutAdvisor;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.interceptor.AsyncExecutionInterceptor;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;

/**
 * The advice beside which locks and permits have to find their place. What matters is the
 * advice that a bean has: an annotation is without effect where nothing enables it. The
 * libraries behind it need not be there.
 */
final class OtherAdvice {

	private static final String ASYNC = "org.springframework.scheduling.annotation.Async";

	private static final String WOVEN_ASYNC = "org.springframework.scheduling.config.internalAsyncExecutionAspect";

	private static final String TRANSACTION = "org.springframework.transaction.interceptor.TransactionInterceptor";

	private static final String VALIDATION = "org.springframework.validation.beanvalidation.MethodValidationInterceptor";

	private OtherAdvice() {
	}

	/**
	 * Return whether a call has passed advice for {@code @Async} before the given one.
	 * Its thread is then there for this call only, and waits for the future that the
	 * method returns.
	 */
	static boolean isAsyncAround(MethodInvocation invocation, Class<?> targetClass, Advice inner) {
		if (invocation instanceof ProxyMethodInvocation proxied && proxied.getProxy() instanceof Advised advised) {
			for (Advisor advisor : advised.getAdvisors()) {
				if (advisor.getAdvice() == inner) {
					return false;
				}
				if (isAsync(advisor, invocation.getMethod(), targetClass)) {
					return true;
				}
			}
		}
		return false;
	}

	/** Return whether an advisor hands a method to an executor, as for {@code @Async}. */
	static boolean isAsync(Advisor advisor, Method method, Class<?> targetClass) {
		return matches(advisor, method, targetClass) && advisor.getAdvice() instanceof AsyncExecutionInterceptor;
	}

	/**
	 * Return whether the code of a method hands it to an executor, as an aspect that was
	 * woven in for {@code @Async} does.
	 */
	static boolean isAsyncWovenIn(BeanFactory beans, AnnotatedMethod<?> annotatedMethod) {
		return beans.containsBean(WOVEN_ASYNC)
				&& (MergedAnnotations.from(annotatedMethod.method(), SearchStrategy.TYPE_HIERARCHY).isPresent(ASYNC)
						|| MergedAnnotations.from(annotatedMethod.targetClass(), SearchStrategy.TYPE_HIERARCHY)
							.isPresent(ASYNC));
	}

	/** Return whether an advisor runs a method in a transaction. */
	static boolean isTransaction(Advisor advisor, Method method, Class<?> targetClass) {
		return matches(advisor, method, targetClass) && isOf(advisor.getAdvice(), TRANSACTION);
	}

	/** Return whether an advisor validates arguments and results. */
	static boolean isValidation(Advisor advisor) {
		return isOf(advisor.getAdvice(), VALIDATION);
	}

	private static boolean matches(Advisor advisor, Method method, Class<?> targetClass) {
		if (!(advisor instanceof PointcutAdvisor selective)) {
			return false;
		}
		Pointcut pointcut = selective.getPointcut();
		return pointcut.getClassFilter().matches(targetClass)
				&& pointcut.getMethodMatcher().matches(method, targetClass);
	}

	private static boolean isOf(Advice advice, String className) {
		Class<?> type = advice.getClass();
		while (type != null && !type.getName().equals(className)) {
			type = type.getSuperclass();
		}
		return type != null;
	}

}
