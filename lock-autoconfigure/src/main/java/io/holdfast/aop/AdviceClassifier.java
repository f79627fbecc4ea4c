package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.PointcutAdvisor;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.aspectj.AbstractAspectJAdvice;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.interceptor.AsyncExecutionInterceptor;
import org.springframework.aop.support.AbstractBeanFactoryPointcutAdvisor;
import org.springframework.beans.factory.BeanFactory;

/**
 * Recognizes other advice, for the position of locks and permits. Checks the advice of a
 * bean rather than annotations, which may not be enabled. The libraries of the advice may
 * be absent.
 */
final class AdviceClassifier {

	private static final String ASYNC = "org.springframework.scheduling.annotation.Async";

	private static final String WOVEN_ASYNC = "org.springframework.scheduling.config.internalAsyncExecutionAspect";

	private static final String TRANSACTION = "org.springframework.transaction.interceptor.TransactionInterceptor";

	private static final String VALIDATION = "org.springframework.validation.beanvalidation.MethodValidationInterceptor";

	private static final String RESILIENCE4J = "io.github.resilience4j.";

	/** Packages of advice for resilience: retries, circuit breakers, limits. */
	private static final List<String> RESILIENCE = List.of(RESILIENCE4J, "org.springframework.resilience.",
			"org.springframework.retry.", "org.springframework.aop.interceptor.ConcurrencyThrottle");

	private AdviceClassifier() {
	}

	/**
	 * Return whether advice for {@code @Async} is outside the given advice. The thread
	 * then serves only this call, and waits for the future that the method returns.
	 * Returns {@code false} with Resilience4j in between, whose retries of a future run
	 * on other threads, and whose time limiter ends the wait before the method has ended.
	 */
	static boolean isAsyncAround(MethodInvocation invocation, Class<?> targetClass, Advice inner) {
		boolean async = false;
		for (Advisor advisor : advisors(invocation, targetClass)) {
			if (advisor.getAdvice() == inner) {
				return async;
			}
			async = advisor.getAdvice() instanceof AsyncExecutionInterceptor
					|| (async && !isOfPackage(advisor, List.of(RESILIENCE4J)));
		}
		return false;
	}

	/**
	 * Return the advisors of a call's proxy that apply to the method, the outermost
	 * first.
	 */
	static List<Advisor> advisors(MethodInvocation invocation, Class<?> targetClass) {
		return (invocation instanceof ProxyMethodInvocation proxied && proxied.getProxy() instanceof Advised advised)
				? Stream.of(advised.getAdvisors())
					.filter((advisor) -> matches(advisor, invocation.getMethod(), targetClass))
					.toList()
				: List.of();
	}

	/** Return whether an advisor hands a method to an executor, as for {@code @Async}. */
	static boolean isAsync(Advisor advisor, Method method, Class<?> targetClass) {
		return matches(advisor, method, targetClass) && advisor.getAdvice() instanceof AsyncExecutionInterceptor;
	}

	/**
	 * Return whether a method is handed to an executor by an aspect for {@code @Async}
	 * that is woven into its class.
	 */
	static boolean isAsyncWovenIn(BeanFactory beans, AnnotatedMethod annotatedMethod) {
		return beans.containsBean(WOVEN_ASYNC) && (AnnotatedMethod.isAnnotated(annotatedMethod.method(), ASYNC)
				|| AnnotatedMethod.isAnnotated(annotatedMethod.targetClass(), ASYNC));
	}

	/** Return whether an advisor runs a method in a transaction. */
	static boolean isTransaction(Advisor advisor, Method method, Class<?> targetClass) {
		return matches(advisor, method, targetClass) && isOf(advisor.getAdvice().getClass(), TRANSACTION::equals);
	}

	/** Return whether an advisor validates arguments and results. */
	static boolean isValidation(Advisor advisor) {
		return isOf(advisor.getAdvice().getClass(), VALIDATION::equals);
	}

	/**
	 * Return whether an advisor is for resilience, of Spring Framework, Spring Retry or
	 * Resilience4j.
	 */
	static boolean isResilience(Advisor advisor) {
		return isOfPackage(advisor, RESILIENCE);
	}

	private static boolean isOfPackage(Advisor advisor, List<String> packages) {
		if (advisor instanceof AbstractBeanFactoryPointcutAdvisor) {
			// Do not request the advice, which may create a bean too early.
			return false;
		}
		Advice advice = advisor.getAdvice();
		Class<?> type = (advice instanceof AbstractAspectJAdvice ofAspect)
				? ofAspect.getAspectJAdviceMethod().getDeclaringClass() : advice.getClass();
		return isOf(type, (name) -> packages.stream().anyMatch(name::startsWith));
	}

	private static boolean matches(Advisor advisor, Method method, Class<?> targetClass) {
		if (!(advisor instanceof PointcutAdvisor selective)) {
			return false;
		}
		Pointcut pointcut = selective.getPointcut();
		return pointcut.getClassFilter().matches(targetClass)
				&& pointcut.getMethodMatcher().matches(method, targetClass);
	}

	/** Return whether the name of a class or one of its superclasses matches. */
	private static boolean isOf(@Nullable Class<?> type, Predicate<String> name) {
		return type != null && (name.test(type.getName()) || isOf(type.getSuperclass(), name));
	}

}
