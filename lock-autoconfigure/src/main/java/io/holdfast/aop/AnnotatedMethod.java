package io.holdfast.aop;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import io.holdfast.async.SingleLine;
import reactor.core.publisher.Mono;

import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.Assert;

/**
 * An annotation as it applies to one method of one class, with its place for messages.
 *
 * @param annotation the annotation, merged with the meta-annotations it came by
 * @param method the method as the class has it
 * @param targetClass the class, without proxies
 * @param source the method or type on which the annotation was found
 */
record AnnotatedMethod(MergedAnnotation<?> annotation, Method method, Class<?> targetClass, AnnotatedElement source) {

	private static final Pattern MANGLING = Pattern.compile("(-[\\w-]{7})?(\\$\\w+)?$");

	/**
	 * Return the name of the class and of the method, the same in every instance of an
	 * application. A generated class has another name in each: the declaring class stands
	 * in for it.
	 */
	String qualifiedMethodName() {
		boolean generated = Proxy.isProxyClass(this.targetClass) || this.targetClass.isHidden()
				|| this.targetClass.isSynthetic();
		Class<?> named = generated ? declaringClass() : this.targetClass;
		return named.getName() + "." + sourceName(this.method);
	}

	/**
	 * Return the name of a method as it is written: in byte code, Kotlin adds a hash for
	 * value classes, and to internal functions the name of their module.
	 */
	static String sourceName(Method method) {
		return KotlinDetector.isKotlinType(method.getDeclaringClass())
				? MANGLING.matcher(method.getName()).replaceFirst("") : method.getName();
	}

	/**
	 * Return the type of the result in this class, which may tell more than the method;
	 * of a suspending function, the declared type.
	 */
	ResolvableType returned() {
		return returned(this.method);
	}

	/**
	 * Return the type of the result of another method, as {@link #returned()} does.
	 */
	ResolvableType returned(Method other) {
		ResolvableType returned = ResolvableType.forMethodReturnType(other, this.targetClass);
		return returned.toClass().getName().equals("kotlin.Unit") ? ResolvableType.forClass(void.class) : returned;
	}

	/**
	 * Return whether this is a suspending function of Kotlin.
	 */
	boolean isSuspending() {
		return KotlinDetector.isSuspendingFunction(this.method);
	}

	/**
	 * Return whether a method or type has an annotation, whose library need not be there.
	 */
	static boolean isAnnotated(AnnotatedElement element, String annotation) {
		return MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).isPresent(annotation);
	}

	/**
	 * Return whether its call at the start prepares all of its runs. Looked for as by
	 * Spring, which does not schedule a method for an annotation of an overridden one.
	 */
	boolean isScheduled() {
		return !AnnotatedElementUtils.getMergedRepeatableAnnotations(this.method, Scheduled.class, Schedules.class)
			.isEmpty();
	}

	/**
	 * Return the adapter between results and publishers; a suspending function has a
	 * {@code Mono}.
	 */
	ReactiveAdapter reactiveAdapter() {
		Class<?> type = isSuspending() ? Mono.class : returned().toClass();
		ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
		Assert.state(adapter != null, () -> type.getName() + " is not a reactive type");
		return adapter;
	}

	/**
	 * Return the number of parameters, without the continuation of a suspending function,
	 * which is its last one.
	 */
	int parameterCount() {
		return this.method.getParameterCount() - (isSuspending() ? 1 : 0);
	}

	/** Refuse the declaration in a case that makes no sense. */
	void refuseIf(boolean senseless, String problem, String cure) {
		if (senseless) {
			throw invalid(problem, cure);
		}
	}

	/** Return the exception for a declaration that cannot be applied. */
	InvalidDeclarationException invalid(String problem, String cure) {
		return new InvalidDeclarationException(this + " " + problem, cure);
	}

	/** Return the exception for an attribute that cannot be applied. */
	InvalidDeclarationException invalid(String attribute, Object value, String problem, String cure) {
		return new InvalidDeclarationException(describe(attribute, value) + " " + problem, cure);
	}

	/** Return an attribute and its value as messages name them. */
	String describe(String attribute, Object value) {
		return this + ": " + attribute + " = "
				+ ((value instanceof String text) ? "\"" + SingleLine.of(text) + "\"" : value);
	}

	@Override
	public String toString() {
		List<Class<?>> parameters = List.of(this.method.getParameterTypes()).subList(0, parameterCount());
		String type = "@" + this.annotation.getType().getSimpleName();
		String written = "@" + this.annotation.getRoot().getType().getSimpleName();
		String place = (written.equals(type) ? type : written + " (" + type + ")") + " on " + qualifiedMethodName()
				+ inBrackets(parameters);
		boolean declaredHere = this.source.equals(this.method);
		return declaredHere ? place : place + " (declared by " + declaringClass().getName() + ")";
	}

	/** Return the names of parameter types as messages have them. */
	static String inBrackets(List<Class<?>> types) {
		return types.stream().map(Class::getSimpleName).collect(Collectors.joining(", ", "(", ")"));
	}

	private Class<?> declaringClass() {
		return (this.source instanceof Method declared) ? declared.getDeclaringClass() : (Class<?>) this.source;
	}

}
