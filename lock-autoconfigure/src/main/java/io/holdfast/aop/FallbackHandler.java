package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import io.holdfast.HoldfastException;
import io.holdfast.NotAcquiredException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.Nullness;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Calls a fallback method of the target.
 *
 * @param method the fallback
 * @param withException whether the last parameter of the fallback takes the exception
 */
record FallbackHandler(Method method, boolean withException) implements NotAcquiredHandler {

	/**
	 * Find the fallback of an annotation.
	 * @param failure the type of exception that the fallback must accept if it takes one
	 * @throws InvalidDeclarationException if no method fits, or several methods fit
	 */
	static FallbackHandler find(AnnotatedMethod annotated, String name, Class<? extends HoldfastException> failure) {
		return new Search(annotated, name, failure).find();
	}

	/** Return whether the fallback can be called for a type of exception. */
	boolean handles(Class<? extends HoldfastException> failure) {
		int last = this.method.getParameterCount() - (isSuspending() ? 2 : 1);
		return !this.withException || this.method.getParameterTypes()[last].isAssignableFrom(failure);
	}

	/**
	 * Return whether the fallback is a suspending function, whose last parameter is the
	 * continuation.
	 */
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
		}
		// For a suspending function, this returns a publisher of the result.
		return AopUtils.invokeJoinpointUsingReflection(receiver(call), this.method, values.toArray());
	}

	/**
	 * Return the receiver of the call: the object behind all proxies, so that private
	 * methods can be called; or the proxy, for methods of interfaces that the object does
	 * not implement.
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

	/**
	 * Finds and checks the fallback.
	 */
	private record Search(AnnotatedMethod annotated, String name, Class<? extends HoldfastException> failure) {

		FallbackHandler find() {
			Collection<Method> named = candidates((method) -> method.getName().equals(this.name));
			List<Method> fitting = fitting(named);
			if (fitting.isEmpty()) {
				// In byte code, Kotlin functions may have another name.
				named = candidates((method) -> AnnotatedMethod.sourceName(method).equals(this.name));
				fitting = fitting(named);
			}
			if (fitting.isEmpty()) {
				throw named.isEmpty() ? unknown() : unfitting(parameters(named.iterator().next()));
			}
			this.annotated.refuseIf(fitting.size() > 1, "fallback", "is ambiguous: " + fitting.size() + " methods fit",
					"Leave one of them, or give them different names");
			Method method = fitting.get(0);
			checkResult(method);
			// Make it accessible now, as this may fail.
			ReflectionUtils.makeAccessible(method);
			return new FallbackHandler(method, parameters(method).size() > parameters().size());
		}

		/**
		 * Return the methods of the class, without overridden and hidden methods.
		 * Parameter types are resolved in the target class.
		 */
		private Collection<Method> candidates(ReflectionUtils.MethodFilter filter) {
			Map<List<Object>, Method> methods = new LinkedHashMap<>();
			ReflectionUtils.MethodCallback collector = (method) -> methods
				.putIfAbsent(List.of(method.getName(), parameters(method)), method);
			ReflectionUtils.MethodFilter own = filter.and((method) -> !method.isSynthetic() && !isItself(method));
			ReflectionUtils.doWithMethods(this.annotated.targetClass(), collector, own);
			// A proxy may implement interfaces that its target does not.
			ReflectionUtils.doWithMethods(this.annotated.method().getDeclaringClass(), collector, own);
			return methods.values();
		}

		private List<Method> fitting(Collection<Method> candidates) {
			return candidates.stream().filter((method) -> fits(parameters(method))).toList();
		}

		private boolean isItself(Method method) {
			return method.getName().equals(this.annotated.method().getName())
					&& parameters(method).equals(parameters());
		}

		private boolean fits(List<Class<?>> candidate) {
			int count = parameters().size();
			if (candidate.size() != count + 1) {
				return candidate.equals(parameters());
			}
			Class<?> last = candidate.get(count);
			return candidate.subList(0, count).equals(parameters()) && Throwable.class.isAssignableFrom(last)
					&& last.isAssignableFrom(this.failure);
		}

		private void checkResult(Method method) {
			this.annotated.refuseIf(KotlinDetector.isSuspendingFunction(method) && !this.annotated.isSuspending(),
					"fallback", "suspends, but the method does not", "Leave suspend out");
			ResolvableType expected = this.annotated.returned();
			ResolvableType actual = this.annotated.returned(method);
			boolean sameKind = expected.toClass().isPrimitive() ? expected.toClass() == actual.toClass()
					: ClassUtils.isAssignable(expected.toClass(), actual.toClass());
			boolean comparable = !expected.hasUnresolvableGenerics() && !actual.hasUnresolvableGenerics();
			this.annotated.refuseIf(
					!sameKind || (comparable && !actual.toClass().isPrimitive() && !expected.isAssignableFrom(actual)),
					"fallback", "returns " + actual + ", but the method returns " + expected,
					"Have " + describe(parameters(method)) + " return " + expected);
			this.annotated.refuseIf(
					Nullness.forMethodReturnType(method) == Nullness.NULLABLE
							&& Nullness.forMethodReturnType(this.annotated.method()) == Nullness.NON_NULL,
					"fallback", "may return null, but the method never does", "Have both return the same");
		}

		private List<Class<?>> parameters() {
			return parameters(this.annotated.method());
		}

		/** Return the parameters, without the continuation of a suspending function. */
		private List<Class<?>> parameters(Method method) {
			int count = method.getParameterCount() - (KotlinDetector.isSuspendingFunction(method) ? 1 : 0);
			return IntStream.range(0, count)
				.<Class<?>>mapToObj(
						(i) -> ResolvableType.forMethodParameter(method, i, this.annotated.targetClass()).toClass())
				.toList();
		}

		private InvalidDeclarationException unknown() {
			if (!this.name.chars().allMatch(Character::isJavaIdentifierPart)) {
				return this.annotated.invalid("fallback", "is no name of a method",
						"Write the name of a method of the class, without class, brackets or signs");
			}
			boolean itself = this.name.equals(AnnotatedMethod.sourceName(this.annotated.method()));
			return this.annotated.invalid("fallback", "is no method of the class" + (itself ? " but itself" : ""),
					cure());
		}

		private InvalidDeclarationException unfitting(List<Class<?>> candidate) {
			Class<?> last = candidate.isEmpty() ? Object.class : candidate.get(candidate.size() - 1);
			String reason = "";
			if (this.failure == HoldfastException.class) {
				reason = "; with onStoreFailure = FALLBACK it serves failures of Redis, too";
			}
			else if (NotAcquiredException.class.isAssignableFrom(last) && !last.isAssignableFrom(this.failure)) {
				reason = "; a NotAcquiredException serves locks and permits";
			}
			return this.annotated.invalid("fallback", "has other parameters: " + describe(candidate), cure() + reason);
		}

		private String cure() {
			List<Class<?>> withException = new ArrayList<>(parameters());
			withException.add(this.failure);
			return "Write a method " + describe(parameters()) + " or " + describe(withException) + " into the class";
		}

		private String describe(List<Class<?>> types) {
			return this.name + AnnotatedMethod.inBrackets(types);
		}

	}

}
