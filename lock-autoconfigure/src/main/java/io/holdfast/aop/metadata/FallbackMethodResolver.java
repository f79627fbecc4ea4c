package io.holdfast.aop.metadata;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.HoldfastException;
import io.holdfast.aop.method.AnnotatedMethod;
import io.holdfast.aop.method.AnnotationValues;
import io.holdfast.aop.method.InvalidDeclarationException;
import io.holdfast.aop.outcome.FallbackHandler;

import org.springframework.core.KotlinDetector;
import org.springframework.core.Nullness;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Finds the method that an annotation names as fallback, and refuses what could not be
 * called when it is needed.
 */
final class FallbackMethodResolver {

	private final AnnotationValues attributes;

	private final AnnotatedMethod<?> annotatedMethod;

	private final String name;

	private final Class<? extends HoldfastException> failure;

	private final List<Class<?>> parameters;

	FallbackMethodResolver(AnnotationValues attributes, String name, Class<? extends HoldfastException> failure) {
		this.attributes = attributes;
		this.annotatedMethod = attributes.annotatedMethod();
		this.name = name;
		this.failure = failure;
		this.parameters = parameters(this.annotatedMethod.method());
	}

	/**
	 * Find the method.
	 * @throws InvalidDeclarationException if there is none that fits, or more than one
	 */
	FallbackHandler find() {
		Map<List<Class<?>>, Method> named = candidates(this.name);
		List<Method> fitting = fitting(named);
		if (fitting.isEmpty()) {
			List<Map<List<Class<?>>, Method>> mangled = mangledNames().map(this::candidates).toList();
			fitting = mangled.stream().flatMap((methods) -> fitting(methods).stream()).toList();
			mangled.forEach(named::putAll);
		}
		if (fitting.isEmpty()) {
			throw this.attributes.invalid("fallback", named.isEmpty() ? "is no method of the class" + butItself()
					: "has other parameters: " + describe(named.keySet().iterator().next()), cure(), null);
		}
		if (fitting.size() > 1) {
			throw this.attributes.invalid("fallback", "is ambiguous: " + fitting.size() + " methods fit",
					"Leave one of them, or give them different names", null);
		}
		Method method = fitting.get(0);
		checkResult(method);
		ReflectionUtils.makeAccessible(method);
		return new FallbackHandler(method, parameters(method).size() > this.parameters.size());
	}

	/**
	 * Return the methods of that name as the class has them: of those with the same
	 * parameters, the one that overrides or hides the others. They are told apart by what
	 * their parameters are in this class, where they may be less generic.
	 */
	private Map<List<Class<?>>, Method> candidates(String name) {
		Map<List<Class<?>>, Method> methods = new LinkedHashMap<>();
		ReflectionUtils.MethodFilter filter = (method) -> method.getName().equals(name) && !method.isBridge()
				&& !isItself(method);
		ReflectionUtils.MethodCallback collector = (method) -> methods.putIfAbsent(parameters(method), method);
		ReflectionUtils.doWithMethods(this.annotatedMethod.targetClass(), collector, filter);
		// A proxy may implement interfaces that its target does not.
		ReflectionUtils.doWithMethods(this.annotatedMethod.method().getDeclaringClass(), collector, filter);
		return methods;
	}

	private List<Method> fitting(Map<List<Class<?>>, Method> candidates) {
		return candidates.entrySet().stream().filter((entry) -> fits(entry.getKey())).map(Map.Entry::getValue).toList();
	}

	/** Return the names that functions of Kotlin with this name have in byte code. */
	private Stream<String> mangledNames() {
		return Stream.of(ReflectionUtils.getAllDeclaredMethods(this.annotatedMethod.targetClass()))
			.filter((method) -> !method.isSynthetic() && AnnotatedMethod.sourceName(method).equals(this.name))
			.map(Method::getName)
			.filter((mangled) -> !mangled.equals(this.name))
			.distinct();
	}

	private boolean isItself(Method method) {
		return method.getName().equals(this.annotatedMethod.method().getName())
				&& parameters(method).equals(this.parameters);
	}

	private boolean fits(List<Class<?>> candidate) {
		int count = this.parameters.size();
		if (candidate.size() != count + 1) {
			return candidate.equals(this.parameters);
		}
		Class<?> last = candidate.get(count);
		return candidate.subList(0, count).equals(this.parameters) && Throwable.class.isAssignableFrom(last)
				&& last.isAssignableFrom(this.failure);
	}

	private void checkResult(Method method) {
		if (KotlinDetector.isSuspendingFunction(method) && !this.annotatedMethod.isSuspending()) {
			throw this.attributes.invalid("fallback", "suspends, but the method does not", "Leave suspend out", null);
		}
		ResolvableType expected = this.annotatedMethod.returned();
		ResolvableType actual = this.annotatedMethod.returned(method);
		boolean sameKind = expected.toClass().isPrimitive() ? expected.toClass() == actual.toClass()
				: ClassUtils.isAssignable(expected.toClass(), actual.toClass());
		boolean comparable = !expected.hasUnresolvableGenerics() && !actual.hasUnresolvableGenerics();
		if (!sameKind || (comparable && !actual.toClass().isPrimitive() && !expected.isAssignableFrom(actual))) {
			throw this.attributes.invalid("fallback", "returns " + actual + ", but the method returns " + expected,
					"Have both return the same", null);
		}
		if (Nullness.forMethodReturnType(method) == Nullness.NULLABLE
				&& Nullness.forMethodReturnType(this.annotatedMethod.method()) == Nullness.NON_NULL) {
			throw this.attributes.invalid("fallback", "may return null, but the method never does",
					"Have both return the same", null);
		}
	}

	/** Return the parameters, without the continuation of a suspending function. */
	private List<Class<?>> parameters(Method method) {
		int count = method.getParameterCount() - (KotlinDetector.isSuspendingFunction(method) ? 1 : 0);
		List<Class<?>> types = new ArrayList<>(count);
		for (int i = 0; i < count; i++) {
			types.add(ResolvableType.forMethodParameter(method, i, this.annotatedMethod.targetClass()).toClass());
		}
		return types;
	}

	private String butItself() {
		return this.name.equals(AnnotatedMethod.sourceName(this.annotatedMethod.method())) ? " but itself" : "";
	}

	private String cure() {
		List<Class<?>> withException = new ArrayList<>(this.parameters);
		withException.add(this.failure);
		return "Write a method " + describe(this.parameters) + " or " + describe(withException) + " into the class";
	}

	private String describe(List<Class<?>> types) {
		return this.name + Arrays.toString(types.stream().map(Class::getSimpleName).toArray())
			.replace('[', '(')
			.replace(']', ')');
	}

}
