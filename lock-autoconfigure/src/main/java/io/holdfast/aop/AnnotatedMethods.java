package io.holdfast.aop;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringValueResolver;

/**
 * Finds the methods to which an annotation applies. Thread-safe.
 */
final class AnnotatedMethods {

	private static final String BEAN = "org.springframework.context.annotation.Bean";

	final Class<? extends Annotation> annotationType;

	private final StringValueResolver resolver;

	/** Whether a type contains the annotation, by type. */
	private final Map<Class<?>, Boolean> contained = new ConcurrentHashMap<>();

	/** Annotated methods by class, mostly empty. */
	private final Map<Class<?>, List<AnnotatedMethod>> located = new ConcurrentHashMap<>();

	/**
	 * Create the finder.
	 * @param resolver resolves placeholders in attributes
	 */
	AnnotatedMethods(Class<? extends Annotation> annotationType, StringValueResolver resolver) {
		this.annotationType = annotationType;
		this.resolver = resolver;
	}

	/**
	 * Return the annotation of a method, valid or not. Not cached.
	 * @return the annotation, or {@code null} if none applies
	 */
	@Nullable AnnotatedMethod find(Method method, Class<?> targetClass) {
		Class<?> userClass = ClassUtils.getUserClass(targetClass);
		Method specific = AopUtils.getMostSpecificMethod(method, userClass);
		// A class may inherit the method from a class that does not implement the
		// interface.
		Method implemented = ClassUtils.getInterfaceMethodIfPossible(specific, userClass);
		MergedAnnotation<?> annotation = Stream.of(specific, implemented, method)
			.distinct()
			.<MergedAnnotation<?>>map(this::search)
			.filter(MergedAnnotation::isPresent)
			.findFirst()
			.orElseGet(() -> searchBridges(specific, userClass));
		if (!annotation.isPresent() && isReachedByType(specific)) {
			annotation = search(userClass);
			if (!annotation.isPresent()) {
				// A proxy may implement interfaces that its target does not.
				annotation = search(method.getDeclaringClass());
			}
			if (annotation.isPresent() && makesBean(specific)) {
				return null;
			}
		}
		return (annotation.isPresent() && annotation.getSource() instanceof AnnotatedElement source)
				? new AnnotatedMethod(annotation, specific, userClass, source, this.resolver) : null;
	}

	/** Return the annotated methods of a type, valid or not. */
	Collection<AnnotatedMethod> of(Class<?> type) {
		return this.located.computeIfAbsent(ClassUtils.getUserClass(type), this::locateAll);
	}

	private List<AnnotatedMethod> locateAll(Class<?> userClass) {
		if (!isContained(userClass)) {
			return List.of();
		}
		MetadataLookup<AnnotatedMethod> lookup = (method) -> find(method, userClass);
		return List.copyOf(MethodIntrospector.selectMethods(userClass, lookup).values());
	}

	/**
	 * Return whether a type, one of its supertypes or one of their methods has the
	 * annotation. Cheaper than the search for each method of each bean.
	 */
	private boolean isContained(Class<?> type) {
		Boolean known = this.contained.get(type);
		if (known == null) {
			known = AnnotationUtils.isCandidateClass(type, this.annotationType)
					&& (Stream.concat(Stream.of(type), Stream.of(ReflectionUtils.getDeclaredMethods(type)))
						.anyMatch((element) -> MergedAnnotations.from(element).isPresent(this.annotationType))
							|| Stream.concat(Stream.ofNullable(type.getSuperclass()), Stream.of(type.getInterfaces()))
								.anyMatch(this::isContained));
			this.contained.put(type, known);
		}
		return known;
	}

	/**
	 * Return whether a method is an overload that Kotlin's {@code @JvmOverloads} has
	 * generated. The overload is final, has the same annotations, and only calls the
	 * original method with default values, through the proxy.
	 */
	boolean isKotlinOverload(Method method) {
		Method[] declared = method.getDeclaringClass().getDeclaredMethods();
		return Modifier.isFinal(method.getModifiers())
				&& Stream.of(declared).anyMatch((other) -> other.getName().equals(method.getName() + "$default"))
				&& Stream.of(declared)
					.anyMatch((other) -> other.getName().equals(method.getName())
							&& !Modifier.isFinal(other.getModifiers())
							&& other.getParameterCount() > method.getParameterCount() && search(other).isPresent());
	}

	/**
	 * Search the methods that only a bridge method overrides. In Kotlin, a generic
	 * parameter of an overridden method may be primitive in the overriding method.
	 */
	private MergedAnnotation<?> searchBridges(Method method, Class<?> userClass) {
		if (Stream.of(method.getParameterTypes()).noneMatch(Class::isPrimitive)) {
			return MergedAnnotation.missing();
		}
		// Spring cannot resolve Kotlin's bridges of suspending functions.
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

	/** Return whether a method creates a bean. */
	static boolean makesBean(Method method) {
		boolean factory = method.getName().equals("getObject") && method.getParameterCount() == 0
				&& FactoryBean.class.isAssignableFrom(method.getDeclaringClass());
		return factory || MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).isPresent(BEAN);
	}

	/** Return the annotation of a type or a method itself, which may be missing. */
	MergedAnnotation<?> search(AnnotatedElement element) {
		return MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).get(this.annotationType);
	}

}
