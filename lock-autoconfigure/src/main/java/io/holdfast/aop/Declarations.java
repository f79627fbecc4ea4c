package io.holdfast.aop;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.core.GenericTypeResolver;
import org.springframework.core.MethodClassKey;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Finds the methods to which an annotation applies, refuses those that it cannot be
 * applied to, and keeps what was parsed from it. Thread-safe.
 *
 * @param <A> the annotation's type
 * @param <T> what is parsed from it
 */
final class Declarations<A extends Annotation, T> {

	private final Class<A> annotationType;

	private final Function<Declaration<A>, T> parser;

	/** What the methods that pass an advised proxy declare, by method and class. */
	private final Map<MethodClassKey, Optional<T>> parsed = new ConcurrentHashMap<>();

	/** What all classes declare: most of them nothing. */
	private final Map<Class<?>, List<Declaration<A>>> checked = new ConcurrentHashMap<>();

	/**
	 * Create the declarations.
	 * @param annotationType the annotation's type
	 * @param parser what reads an annotation; throws {@link InvalidDeclarationException}
	 */
	Declarations(Class<A> annotationType, Function<Declaration<A>, T> parser) {
		this.annotationType = annotationType;
		this.parser = parser;
	}

	/**
	 * What applies to a method.
	 * @param method the method as it was called
	 * @param targetClass the class of the object it was called on
	 * @return what was parsed, or {@code null} if the method has no such annotation
	 */
	@Nullable T find(Method method, Class<?> targetClass) {
		MethodClassKey key = new MethodClassKey(method, targetClass);
		Optional<T> known = this.parsed.get(key);
		if (known == null) {
			known = Optional.ofNullable(locate(method, ClassUtils.getUserClass(targetClass))).map(this.parser);
			this.parsed.put(key, known);
		}
		return known.orElse(null);
	}

	/**
	 * All that a class declares, checked.
	 * @param type a class or an interface
	 * @return the declarations, one for each method that has one
	 * @throws InvalidDeclarationException if one of them cannot be applied
	 */
	Collection<Declaration<A>> of(Class<?> type) {
		Class<?> userClass = ClassUtils.getUserClass(type);
		List<Declaration<A>> known = this.checked.get(userClass);
		if (known == null) {
			known = AnnotationUtils.isCandidateClass(userClass, this.annotationType) ? List.copyOf(
					MethodIntrospector.selectMethods(userClass, (Method method) -> check(method, userClass)).values())
					: List.of();
			this.checked.put(userClass, known);
		}
		return known;
	}

	private @Nullable Declaration<A> check(Method method, Class<?> userClass) {
		Declaration<A> declaration = locate(method, userClass);
		if (declaration != null) {
			checkMethod(declaration);
			this.parser.apply(declaration);
		}
		return declaration;
	}

	private void checkMethod(Declaration<A> declaration) {
		int modifiers = declaration.method().getModifiers();
		if (Modifier.isStatic(modifiers) || Modifier.isPrivate(modifiers)) {
			throw declaration.invalid(
					"has no effect, because the method is " + (Modifier.isStatic(modifiers) ? "static" : "private")
							+ " and so is called past the bean's proxy",
					"Make it a public method of the bean and call it from another bean", null);
		}
		Class<?> returned = GenericTypeResolver.resolveReturnType(declaration.method(), declaration.targetClass());
		if (ReturnTypes.isAsynchronous(declaration.method(), returned)) {
			throw declaration.invalid(
					"would not last until the work is done, because the method returns " + returned.getName(),
					"Return the result itself, or annotate the method that does the work", null);
		}
	}

	/**
	 * Refuse methods that a proxy which is a subclass cannot override.
	 * @param type the proxied class
	 */
	void checkOverridable(Class<?> type) {
		for (Declaration<A> declaration : of(type)) {
			if (Modifier.isFinal(declaration.method().getModifiers()) && isMeant(declaration)) {
				throw declaration.invalid(
						"has no effect, because the method is final and the bean's proxy is a subclass of its class",
						"Make the method non-final (in Kotlin: open, or use the kotlin-spring plugin)", null);
			}
		}
	}

	/**
	 * Whether a final method was meant to be annotated: not if a type's annotation only
	 * reaches it because the type inherits it, as from a base class of some framework.
	 */
	private boolean isMeant(Declaration<A> declaration) {
		return !(declaration.source() instanceof Class<?> annotated)
				|| annotated.isAssignableFrom(declaration.method().getDeclaringClass());
	}

	private @Nullable Declaration<A> locate(Method method, Class<?> userClass) {
		Method specific = AopUtils.getMostSpecificMethod(method, userClass);
		MergedAnnotation<A> annotation = search(specific);
		if (!annotation.isPresent()) {
			// A class may inherit the method from one that knows nothing of the
			// interface.
			annotation = search(ClassUtils.getInterfaceMethodIfPossible(specific, userClass));
		}
		if (!annotation.isPresent() && !method.equals(specific)) {
			annotation = search(method);
		}
		if (!annotation.isPresent() && isReachedByType(specific)) {
			annotation = search(userClass);
			if (!annotation.isPresent()) {
				// A proxy may implement interfaces that its target does not.
				annotation = search(method.getDeclaringClass());
			}
		}
		return (annotation.isPresent() && annotation.getSource() instanceof AnnotatedElement source)
				? new Declaration<>(annotation.synthesize(), specific, userClass, source) : null;
	}

	private boolean isReachedByType(Method method) {
		return Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())
				&& !method.isSynthetic() && !ReflectionUtils.isObjectMethod(method);
	}

	private MergedAnnotation<A> search(AnnotatedElement element) {
		return MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).get(this.annotationType);
	}

}
