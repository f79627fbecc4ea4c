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
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.aop.method.AnnotatedMethod;
import io.holdfast.aop.method.InvalidDeclarationException;
import io.holdfast.aop.method.ReturnKind;
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

	/**
	 * Check all that a type declares.
	 * @param classProxy whether the proxy is a subclass of the type
	 * @throws InvalidDeclarationException if something cannot be applied
	 */
	public List<T> check(Class<?> type, boolean classProxy) {
		List<T> results = new ArrayList<>();
		for (AnnotatedMethod<A> annotatedMethod : of(type)) {
			if (isKotlinOverload(annotatedMethod.method())) {
				continue;
			}
			checkMethod(annotatedMethod);
			if (classProxy && isMeant(annotatedMethod)) {
				checkOverridable(annotatedMethod);
			}
			results.add(this.parser.apply(annotatedMethod));
		}
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

	private void checkOverridable(AnnotatedMethod<A> annotatedMethod) {
		Method method = annotatedMethod.method();
		if (Modifier.isFinal(method.getModifiers())) {
			throw annotatedMethod.invalid(
					"has no effect, because the method is final and the bean's proxy is a subclass of its class",
					"Make the method non-final (in Kotlin: open, or use the kotlin-spring plugin)", null);
		}
		Class<?> type = annotatedMethod.targetClass();
		Class<?> declaring = method.getDeclaringClass();
		boolean packagePrivate = (method.getModifiers()
				& (Modifier.PUBLIC | Modifier.PROTECTED | Modifier.PRIVATE)) == 0;
		if (packagePrivate && !(declaring.getPackageName().equals(type.getPackageName())
				&& declaring.getClassLoader() == type.getClassLoader())) {
			throw annotatedMethod.invalid(
					"has no effect, because the method is package-private, and the bean's proxy is in another package "
							+ "than " + declaring.getName(),
					"Make the method public or protected", null);
		}
	}

	private void checkMethod(AnnotatedMethod<A> annotatedMethod) {
		int modifiers = annotatedMethod.method().getModifiers();
		if (Modifier.isStatic(modifiers) || Modifier.isPrivate(modifiers)) {
			throw annotatedMethod.invalid(
					"has no effect, because the method is " + (Modifier.isStatic(modifiers) ? "static" : "private")
							+ " and so is called past the bean's proxy",
					"Make it a public method of the bean and call it from another bean", null);
		}
		List<String> competing = MergedAnnotations.from(annotatedMethod.source(), SearchStrategy.DIRECT)
			.stream(this.annotationType)
			.map((found) -> "@" + found.getRoot().getType().getSimpleName())
			.toList();
		if (competing.size() > 1) {
			throw annotatedMethod.invalid(
					"is there " + competing.size() + " times, by " + String.join(" and ", competing)
							+ ", of which only one would apply",
					"Leave one of them, or have the method call an annotated one of another bean", null);
		}
		if (annotatedMethod.neverReturns()) {
			throw annotatedMethod.invalid(
					"cannot be applied, because no proxy can call a suspending function that " + "returns Nothing",
					"Have it return Unit, or annotate the function that calls it", null);
		}
		if (ReturnKind.of(annotatedMethod) == ReturnKind.UNSUPPORTED) {
			throw ReturnKind.unsupported(annotatedMethod);
		}
	}

	/**
	 * Return whether a final method was meant to be annotated: not if a type's annotation
	 * only reaches it because the type inherits it, as from a base class of some
	 * framework.
	 */
	private boolean isMeant(AnnotatedMethod<A> annotatedMethod) {
		return !(annotatedMethod.source() instanceof Class<?> annotated)
				|| annotated.isAssignableFrom(annotatedMethod.method().getDeclaringClass());
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
			annotation = this.ofTypes.computeIfAbsent(userClass, this::search);
			if (!annotation.isPresent()) {
				// A proxy may implement interfaces that its target does not.
				annotation = this.ofTypes.computeIfAbsent(method.getDeclaringClass(), this::search);
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

	private MergedAnnotation<A> search(AnnotatedElement element) {
		return MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).get(this.annotationType);
	}

}
