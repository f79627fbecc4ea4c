package io.holdfast.aop.metadata;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.aop.method.AnnotatedMethod;
import io.holdfast.aop.method.InvalidDeclarationException;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Finds the methods to which an annotation applies, refuses those that it cannot be
 * applied to, and has it parsed. Thread-safe.
 *
 * @param <A> the annotation's type
 * @param <T> what is parsed from it
 */
public final class LeaseOperationSource<A extends Annotation, T> {

	private final Class<A> annotationType;

	private final Function<AnnotatedMethod<A>, T> parser;

	/** What types have themselves: asked for with each of their methods. */
	private final Map<Class<?>, MergedAnnotation<A>> ofTypes = new ConcurrentHashMap<>();

	/** What all classes declare: most of them nothing. */
	private final Map<Class<?>, List<AnnotatedMethod<A>>> located = new ConcurrentHashMap<>();

	/**
	 * Create the source.
	 * @param parser what reads an annotation; throws {@link InvalidDeclarationException}
	 */
	public LeaseOperationSource(Class<A> annotationType, Function<AnnotatedMethod<A>, T> parser) {
		this.annotationType = annotationType;
		this.parser = parser;
	}

	/** Return whether the annotation applies to a method, valid or not. */
	public boolean matches(Method method, Class<?> targetClass) {
		return locate(method, ClassUtils.getUserClass(targetClass)) != null;
	}

	/**
	 * Parse what applies to a method. Searches each time.
	 * @return what was parsed, or {@code null} if the method has no such annotation
	 * @throws InvalidDeclarationException if it cannot be applied
	 */
	public @Nullable T find(Method method, Class<?> targetClass) {
		AnnotatedMethod<A> annotatedMethod = locate(method, ClassUtils.getUserClass(targetClass));
		return (annotatedMethod != null) ? this.parser.apply(annotatedMethod) : null;
	}

	/** Return all that a type declares, not yet checked. */
	public Collection<AnnotatedMethod<A>> of(Class<?> type) {
		return this.located.computeIfAbsent(ClassUtils.getUserClass(type), this::locateAll);
	}

	private List<AnnotatedMethod<A>> locateAll(Class<?> userClass) {
		if (!AnnotationUtils.isCandidateClass(userClass, this.annotationType)) {
			return List.of();
		}
		MetadataLookup<AnnotatedMethod<A>> lookup = (method) -> locate(method, userClass);
		Collection<AnnotatedMethod<A>> all = MethodIntrospector.selectMethods(userClass, lookup).values();
		return all.stream().filter((found) -> all.stream().noneMatch((other) -> isBridge(found, other))).toList();
	}

	/** Return whether what was found is for the other: they have one annotation. */
	private static boolean isBridge(AnnotatedMethod<?> found, AnnotatedMethod<?> other) {
		return found.method().isBridge() && !other.method().isBridge() && found.source().equals(other.source())
				&& found.method().getName().equals(other.method().getName());
	}

	/** Return whether a type declares something, valid or not. */
	public boolean isDeclaredBy(Class<?> type) {
		Class<?> userClass = ClassUtils.getUserClass(type);
		return !of(userClass).isEmpty() || ofType(userClass).isPresent();
	}

	/**
	 * Check all that a type declares.
	 * @param classProxy whether the proxy is a subclass of the type
	 * @param callback whether the container calls a method past the proxy
	 * @throws InvalidDeclarationException if something cannot be applied
	 */
	public List<T> check(Class<?> type, boolean classProxy, Predicate<Method> callback) {
		Class<?> userClass = ClassUtils.getUserClass(type);
		DeclarationCheck<A> check = new DeclarationCheck<>(this.annotationType, userClass, ofType(userClass),
				of(userClass), classProxy, callback);
		List<T> results = new ArrayList<>();
		for (AnnotatedMethod<A> annotatedMethod : of(userClass)) {
			if (!isKotlinOverload(annotatedMethod.method())) {
				check.check(annotatedMethod);
				results.add(this.parser.apply(annotatedMethod));
			}
		}
		check.checkType();
		return results;
	}

	/**
	 * Return whether a method only calls another one of its name with default values, as
	 * Kotlin's {@code @JvmOverloads} adds it: final, with the same annotations, and past
	 * no proxy, as the other one is called through that.
	 */
	private boolean isKotlinOverload(Method method) {
		Method[] all = method.getDeclaringClass().getDeclaredMethods();
		return Modifier.isFinal(method.getModifiers())
				&& Stream.of(all).anyMatch((other) -> other.getName().equals(method.getName() + "$default"))
				&& Stream.of(all)
					.anyMatch((other) -> other.getName().equals(method.getName())
							&& !Modifier.isFinal(other.getModifiers())
							&& other.getParameterCount() > method.getParameterCount() && search(other).isPresent());
	}

	private @Nullable AnnotatedMethod<A> locate(Method method, Class<?> userClass) {
		Method specific = AopUtils.getMostSpecificMethod(method, userClass);
		MergedAnnotation<A> annotation = search(specific);
		if (!annotation.isPresent()) {
			// A class may inherit the method from one that knows nothing of the
			// interface.
			Method implemented = ClassUtils.getInterfaceMethodIfPossible(specific, userClass);
			annotation = implemented.equals(specific) ? annotation : search(implemented);
		}
		if (!annotation.isPresent() && !method.equals(specific)) {
			annotation = search(method);
		}
		if (!annotation.isPresent()) {
			annotation = searchBridges(specific, userClass);
		}
		if (!annotation.isPresent() && isReachedByType(specific)) {
			annotation = ofType(userClass);
			if (!annotation.isPresent()) {
				// A proxy may implement interfaces that its target does not.
				annotation = ofType(method.getDeclaringClass());
			}
			if (annotation.isPresent() && DeclarationCheck.makesBean(specific)) {
				return null;
			}
		}
		return (annotation.isPresent() && annotation.getSource() instanceof AnnotatedElement source)
				? new AnnotatedMethod<>(annotation, specific, userClass, source) : null;
	}

	/**
	 * Search what a method overrides by a bridge only: in Kotlin, a parameter that is
	 * generic there may be primitive here.
	 */
	private MergedAnnotation<A> searchBridges(Method method, Class<?> userClass) {
		if (Stream.of(method.getParameterTypes()).noneMatch(Class::isPrimitive)) {
			return MergedAnnotation.missing();
		}
		// Spring does not know which methods of Kotlin bridges are for, if they suspend.
		return Stream.of(ReflectionUtils.getAllDeclaredMethods(userClass))
			.filter((bridge) -> bridge.isBridge() && bridge.getName().equals(method.getName()))
			.map(this::search)
			.filter((found) -> found.getSource() instanceof Method overridden
					&& overrides(method, overridden, userClass))
			.findFirst()
			.orElseGet(MergedAnnotation::missing);
	}

	private static boolean overrides(Method method, Method overridden, Class<?> userClass) {
		Class<?>[] types = method.getParameterTypes();
		return types.length == overridden.getParameterCount() && IntStream.range(0, types.length)
			.allMatch((i) -> ClassUtils.resolvePrimitiveIfNecessary(types[i])
				.equals(ResolvableType.forMethodParameter(overridden, i, userClass).toClass()));
	}

	private boolean isReachedByType(Method method) {
		return Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())
				&& !method.isSynthetic() && !ReflectionUtils.isObjectMethod(method);
	}

	private MergedAnnotation<A> ofType(Class<?> type) {
		return this.ofTypes.computeIfAbsent(type, this::search);
	}

	private MergedAnnotation<A> search(AnnotatedElement element) {
		return MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).get(this.annotationType);
	}

}
