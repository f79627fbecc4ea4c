package io.holdfast.aop;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

/**
 * An annotation that applies to a method of a class: its attributes, and its location for
 * messages.
 *
 * @param annotation the annotation, merged with its meta-annotations
 * @param method the most specific method of the class
 * @param targetClass the class, without proxies
 * @param source the method or type on which the annotation was found
 * @param resolver resolves placeholders
 */
record AnnotatedMethod(MergedAnnotation<?> annotation, Method method, Class<?> targetClass, AnnotatedElement source,
		StringValueResolver resolver) {

	private static final Pattern MANGLING = Pattern.compile("(-[\\w-]{7})?(\\$\\w+)?$");

	/**
	 * Return the names of class and method, which are the same in every instance of an
	 * application. The name of a generated class varies, and the class behind a
	 * repository belongs to a library: both are replaced by the declaring class.
	 */
	String qualifiedMethodName() {
		boolean generated = Proxy.isProxyClass(this.targetClass) || this.targetClass.isHidden()
				|| this.targetClass.isSynthetic() || !declaringClass().isAssignableFrom(this.targetClass);
		Class<?> named = generated ? declaringClass() : this.targetClass;
		return named.getName() + "." + sourceName(this.method);
	}

	/**
	 * Return the name of a method in its source code. In byte code, Kotlin appends a hash
	 * for value classes, and the name of the module for internal functions.
	 */
	static String sourceName(Method method) {
		return KotlinDetector.isKotlinType(method.getDeclaringClass())
				? MANGLING.matcher(method.getName()).replaceFirst("") : method.getName();
	}

	/**
	 * Return the type of the result as resolved in the target class; for a suspending
	 * function, the declared type.
	 */
	ResolvableType returned() {
		return returned(this.method);
	}

	/**
	 * Return the type of another method's result, as {@link #returned()} does.
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
	 * Return whether a method or type has an annotation. The annotation's library may be
	 * absent.
	 */
	static boolean isAnnotated(AnnotatedElement element, String annotation) {
		return MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).isPresent(annotation);
	}

	/**
	 * Return whether Spring schedules this method, and so calls a reactive method only
	 * once for all of its runs. Like Spring, ignores annotations of overridden methods.
	 */
	boolean isScheduled() {
		return !AnnotatedElementUtils.getMergedRepeatableAnnotations(this.method, Scheduled.class, Schedules.class)
			.isEmpty();
	}

	/**
	 * Return the adapter between results and publishers. For a suspending function, this
	 * is the adapter of {@code Mono}.
	 */
	ReactiveAdapter reactiveAdapter() {
		Class<?> type = isSuspending() ? Mono.class : returned().toClass();
		ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
		Assert.state(adapter != null, () -> type.getName() + " is not a reactive type");
		return adapter;
	}

	/**
	 * Return the number of parameters, without the continuation of a suspending function,
	 * which is the last parameter.
	 */
	int parameterCount() {
		return this.method.getParameterCount() - (isSuspending() ? 1 : 0);
	}

	/**
	 * Return a text attribute with placeholders resolved.
	 * @return the text; empty only if the attribute is not set
	 */
	String text(String attribute) {
		String resolved = resolve(attribute);
		refuseIf(!written(attribute).isEmpty() && !StringUtils.hasText(resolved), attribute, "is blank",
				"Give it a value, or leave the attribute out");
		return resolved;
	}

	/**
	 * Return the name, which is plain text.
	 * @return the name; empty only if the attribute is not set
	 */
	String name() {
		String name = text("name");
		// Parameters are not available: #sku would be plain text, and null in #{...}.
		refuseIf(name.contains("#") || written("name").replace("#{", "").contains("#"), "name",
				"has a '#', although parameters are not known in it: all calls would share one key",
				"Write key = \"#sku\" for what differs from call to call, beside or instead of the name; "
						+ "as plain text, a '#' has to be in quotes in the key");
		return name;
	}

	/**
	 * Return the text of an expression.
	 * @return the expression; empty if the attribute is not set
	 */
	String expression(String attribute) {
		// Resolving #{...} would evaluate the expression now, without arguments.
		refuseIf(written(attribute).contains("#{"), attribute, "has #{...} around an expression",
				"The attribute is an expression already: leave #{ and } out");
		return text(attribute);
	}

	/** Return a positive integer attribute that is given as text. */
	int count(String attribute, int max) {
		refuseIf(written(attribute).contains("#{"), attribute, "has an expression, which is not evaluated here",
				"Write a number, or a placeholder such as ${property:10}");
		int count = 0;
		NumberFormatException cause = null;
		try {
			count = Integer.parseInt(resolve(attribute).trim());
		}
		catch (NumberFormatException ex) {
			cause = ex;
		}
		if (count < 1 || count > max) {
			throw invalidText(attribute, "is not a whole number from 1 to " + max, "Write for example 10")
				.causedBy(cause);
		}
		return count;
	}

	/** Return a duration, or {@code null} if the attribute is not set. */
	@Nullable Duration duration(String attribute) {
		String resolved = resolve(attribute).trim();
		if (resolved.isEmpty()) {
			return null;
		}
		if (resolved.equals("0")) {
			return Duration.ZERO;
		}
		boolean unit = !resolved.chars().allMatch((c) -> Character.isDigit(c) || c == '+');
		String cure = "Write for example 10s, 500ms or PT10S"
				+ (attribute.equals("waitTime") ? "; or 0 to try once, -1 to wait without limit" : "");
		try {
			Duration duration = DurationFormatterUtils.detectAndParse(resolved);
			if (unit && !duration.isNegative()) {
				return duration;
			}
			throw invalidText(attribute, unit ? "is negative" : "has no unit", cure);
		}
		catch (IllegalArgumentException | ArithmeticException ex) {
			throw invalidText(attribute, "is not a duration", cure).causedBy(ex);
		}
	}

	/** Return the exception for a text attribute, with its resolved placeholders. */
	InvalidDeclarationException invalidText(String attribute, String problem, String cure) {
		String resolved = resolve(attribute).trim();
		return invalid(attribute, (written(attribute).equals(resolved) ? "" : "(" + resolved + ") ") + problem, cure);
	}

	/** Refuse an attribute if a condition is true. */
	void refuseIf(boolean senseless, String attribute, String problem, String cure) {
		if (senseless) {
			throw invalid(attribute, problem, cure);
		}
	}

	/** Return the exception for an attribute. */
	InvalidDeclarationException invalid(String attribute, String problem, String cure) {
		Object value = this.annotation.getValue(attribute).orElseThrow();
		return invalid(attribute, value, problem, cure);
	}

	private String written(String attribute) {
		return this.annotation.getString(attribute);
	}

	/** Return a text attribute with placeholders resolved, which may be blank. */
	String resolve(String attribute) {
		String resolved = null;
		IllegalArgumentException failure = null;
		try {
			resolved = this.resolver.resolveStringValue(written(attribute));
		}
		catch (IllegalArgumentException ex) {
			failure = ex;
		}
		// Without a strict configurer, Spring leaves unknown placeholders unresolved.
		if (failure != null || (resolved != null && resolved.contains("${"))) {
			throw invalid(attribute, "has a placeholder that cannot be resolved",
					"Set the property, or write a default into the placeholder, as in ${property:default}")
				.causedBy(failure);
		}
		return (resolved != null) ? resolved : "";
	}

	/** Refuse the declaration if a condition is true. */
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

	/** Return an attribute and its value for messages. */
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

	/** Return the names of parameter types for messages. */
	static String inBrackets(List<Class<?>> types) {
		return types.stream().map(Class::getSimpleName).collect(Collectors.joining(", ", "(", ")"));
	}

	private Class<?> declaringClass() {
		return (this.source instanceof Method declared) ? declared.getDeclaringClass() : (Class<?>) this.source;
	}

}
