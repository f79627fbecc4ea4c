package io.holdfast.aop.metadata;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.aop.method.AnnotatedMethod;
import io.holdfast.aop.method.InvalidDeclarationException;
import io.holdfast.aop.method.ReturnKind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.FactoryBean;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Refuses declarations of one type that cannot be applied or would have no effect.
 *
 * @param <A> the annotation's type
 * @param annotationType the annotation
 * @param type the type of the bean
 * @param ofType the annotation of the type itself, perhaps missing
 * @param methods the methods to which the annotation applies
 * @param classProxy whether the proxy is a subclass of the type
 * @param callback whether the container calls a method past the proxy
 */
record DeclarationCheck<A extends Annotation>(Class<A> annotationType, Class<?> type, MergedAnnotation<A> ofType,
		Collection<AnnotatedMethod<A>> methods, boolean classProxy, Predicate<Method> callback) {

	private static final Log logger = LogFactory.getLog(DeclarationCheck.class);

	private static final String BEAN = "org.springframework.context.annotation.Bean";

	/**
	 * The annotations of methods that are called from outside of the application, mostly
	 * as meta-annotations: those of Kafka, Rabbit, JMS and Pulsar have the third.
	 */
	private static final List<String> ENTRIES = List.of("org.springframework.context.event.EventListener",
			"org.springframework.scheduling.annotation.Scheduled",
			"org.springframework.messaging.handler.annotation.MessageMapping",
			"org.springframework.integration.annotation.ServiceActivator",
			"org.springframework.web.bind.annotation.RequestMapping", "io.awspring.cloud.sqs.annotation.SqsListener");

	/** Return whether a method makes a bean. */
	static boolean makesBean(Method method) {
		boolean factory = method.getName().equals("getObject") && method.getParameterCount() == 0
				&& FactoryBean.class.isAssignableFrom(method.getDeclaringClass());
		return factory || MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).isPresent(BEAN);
	}

	/**
	 * Check one of the methods.
	 * @throws InvalidDeclarationException if the annotation cannot be applied
	 */
	void check(AnnotatedMethod<A> annotatedMethod) {
		checkMethod(annotatedMethod);
		if (this.classProxy && isMeant(annotatedMethod)) {
			checkOverridable(annotatedMethod);
		}
	}

	private void checkMethod(AnnotatedMethod<A> annotatedMethod) {
		Method method = annotatedMethod.method();
		if (makesBean(method)) {
			throw annotatedMethod
				.invalid("is held while the bean is created, and not while its methods run", "Move it to "
						+ work(annotatedMethod.returned().toClass())
						+ ", or to a method of another bean that this bean calls. To create the bean under it, use the "
						+ service() + " in the method", null);
		}
		int modifiers = method.getModifiers();
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
		rival(annotatedMethod.annotation(), onMethods(method)).ifPresent((rival) -> {
			throw annotatedMethod.invalid(
					"differs from that of " + rival.getName() + ", and only one of them would apply",
					"Annotate the method of the class itself", null);
		});
		if (annotatedMethod.neverReturns()) {
			throw annotatedMethod.invalid(
					"cannot be applied, because no proxy can call a suspending function that " + "returns Nothing",
					"Have it return Unit, or annotate the function that calls it", null);
		}
		if (ReturnKind.of(annotatedMethod) == ReturnKind.UNSUPPORTED) {
			throw ReturnKind.unsupported(annotatedMethod);
		}
	}

	/** Return the place of the work of a bean, in words. */
	private static String work(Class<?> made) {
		List<Method> open = made.isInterface() ? Stream.of(made.getMethods())
			.filter((method) -> Modifier.isAbstract(method.getModifiers()) && !ReflectionUtils.isObjectMethod(method))
			.toList() : List.of();
		return (open.size() == 1)
				? "the method " + open.get(0).getName() + " of a class that implements " + made.getSimpleName()
				: "the methods of the bean's class";
	}

	private String service() {
		return (this.annotationType == DistributedLock.class) ? "LockService" : "SemaphoreService";
	}

	/**
	 * Return whether a method was meant to be annotated: not if a type's annotation only
	 * reaches it because the type inherits it, as from a base class of some framework.
	 */
	private boolean isMeant(AnnotatedMethod<A> annotatedMethod) {
		return !(annotatedMethod.source() instanceof Class<?> annotated)
				|| annotated.isAssignableFrom(annotatedMethod.method().getDeclaringClass());
	}

	private void checkOverridable(AnnotatedMethod<A> annotatedMethod) {
		Method method = annotatedMethod.method();
		if (Modifier.isFinal(method.getModifiers())) {
			throw annotatedMethod.invalid(
					"has no effect, because the method is final and the bean's proxy is a subclass of its class",
					"Make the method non-final (in Kotlin: open, or use the kotlin-spring plugin)", null);
		}
		Class<?> declaring = method.getDeclaringClass();
		boolean packagePrivate = (method.getModifiers()
				& (Modifier.PUBLIC | Modifier.PROTECTED | Modifier.PRIVATE)) == 0;
		if (packagePrivate && !(declaring.getPackageName().equals(this.type.getPackageName())
				&& declaring.getClassLoader() == this.type.getClassLoader())) {
			throw annotatedMethod.invalid(
					"has no effect, because the method is package-private, and the bean's proxy is in another package "
							+ "than " + declaring.getName(),
					"Make the method public or protected", null);
		}
	}

	/** Return the annotations of a method, and of the interfaces that have it. */
	private Stream<MergedAnnotation<A>> onMethods(Method method) {
		Stream<Method> implemented = ClassUtils.getAllInterfacesForClassAsSet(this.type)
			.stream()
			.map((each) -> ReflectionUtils.findMethod(each, method.getName(), method.getParameterTypes()))
			.filter(Method.class::isInstance);
		return Stream.concat(Stream.of(method), implemented)
			.flatMap((each) -> MergedAnnotations.from(each, SearchStrategy.TYPE_HIERARCHY).stream(this.annotationType));
	}

	/**
	 * Return the type that declares something else than the interface whose annotation
	 * applies: another interface, or the base class, which Spring searches later. An
	 * interface comes before its super-interfaces, and an annotated class before all.
	 */
	private static <A extends Annotation> Optional<Class<?>> rival(MergedAnnotation<A> applied,
			Stream<MergedAnnotation<A>> all) {
		Class<?> place = place(applied);
		if (!place.isInterface()) {
			return Optional.empty();
		}
		return all.filter((other) -> !place(other).isAssignableFrom(place) && !other.asMap().equals(applied.asMap()))
			.<Class<?>>map(DeclarationCheck::place)
			.findFirst();
	}

	private static Class<?> place(MergedAnnotation<?> annotation) {
		if (annotation.getSource() instanceof Class<?> type) {
			return type;
		}
		return (annotation.getSource() instanceof Member member) ? member.getDeclaringClass() : Object.class;
	}

	/**
	 * Check the annotation of the type itself.
	 * @throws InvalidDeclarationException if it guards no method, or none that is called
	 */
	void checkType() {
		if (!(this.ofType.getSource() instanceof Class<?> annotated)) {
			return;
		}
		if (this.methods.stream().anyMatch((method) -> method.source().equals(annotated))) {
			rival(this.ofType,
					MergedAnnotations.from(this.type, SearchStrategy.TYPE_HIERARCHY).stream(this.annotationType))
				.ifPresent((rival) -> {
					throw invalid(annotated,
							"differs from that of " + rival.getName() + ", and only one of them would apply",
							"Annotate the class itself, or the methods");
				});
		}
		List<Method> own = Stream.of(ReflectionUtils.getUniqueDeclaredMethods(this.type))
			.filter((method) -> annotated.isAssignableFrom(method.getDeclaringClass())
					&& !Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())
					&& !method.isSynthetic() && this.methods.stream().noneMatch((each) -> each.method().equals(method)))
			.toList();
		own.forEach((method) -> checkEntry(annotated, method));
		List<Method> guarded = this.methods.stream()
			.filter((method) -> !this.classProxy || !Modifier.isFinal(method.method().getModifiers()))
			.filter((method) -> !isOfOther(method))
			.map(AnnotatedMethod::method)
			.filter((method) -> !this.callback.test(method))
			.toList();
		this.methods.stream()
			.filter(this::isOfOther)
			.map(AnnotatedMethod::method)
			.filter((method) -> method.getDeclaringClass().isAssignableFrom(annotated))
			.findFirst()
			.ifPresent((method) -> checkInherited(annotated, method, guarded));
		this.methods.forEach((method) -> checkTemplate(annotated, method, own, guarded));
		if (guarded.isEmpty()) {
			throw invalid(annotated,
					"has no effect, because it applies to public methods that are called through the bean, and "
							+ this.type.getSimpleName() + " has none",
					"Make the method that does the work public, or annotate that method");
		}
	}

	private void checkEntry(Class<?> annotated, Method method) {
		MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
		ENTRIES.stream().map(annotations::get).filter(MergedAnnotation::isPresent).findFirst().ifPresent((entry) -> {
			throw invalid(annotated,
					"has no effect on " + describe(method) + ", which is called by @"
							+ entry.getRoot().getType().getSimpleName() + ", because the method is not public",
					"Make the method public, or annotate the methods instead of the type");
		});
	}

	/**
	 * Return whether a proxy for an interface, whose target does not implement that, has
	 * a method of another one, as a repository has: its calls know the other one only.
	 */
	private boolean isOfOther(AnnotatedMethod<A> annotatedMethod) {
		return this.type.isInterface() && !isMeant(annotatedMethod);
	}

	/** Refuse an interface with no methods but inherited ones; warn if it has others. */
	private void checkInherited(Class<?> annotated, Method inherited, List<Method> guarded) {
		InvalidDeclarationException trouble = invalid(annotated,
				"has no effect on what " + this.type.getSimpleName() + " inherits, such as "
						+ inherited.getDeclaringClass().getSimpleName() + "." + inherited.getName(),
				"Declare the methods that it is meant for in " + this.type.getSimpleName() + " as well");
		if (guarded.isEmpty()) {
			throw trouble;
		}
		logger.warn(trouble.getMessage());
	}

	/**
	 * Refuse a type whose work is called by a final method of a base class if its other
	 * methods only configure it; warn if it has work of its own.
	 * @param own the methods that are not public
	 * @param guarded the methods that are guarded
	 */
	private void checkTemplate(Class<?> annotated, AnnotatedMethod<A> template, List<Method> own,
			List<Method> guarded) {
		Method caller = template.method();
		Class<?> base = caller.getDeclaringClass();
		// The container and accessors call no work: DaoSupport.initDao is none.
		if (!this.classProxy || isMeant(template) || !Modifier.isFinal(caller.getModifiers())
				|| this.callback.test(caller) || isAccessor(caller)) {
			return;
		}
		own.stream().filter((method) -> overrides(method, base)).findFirst().ifPresent((work) -> {
			InvalidDeclarationException trouble = invalid(annotated,
					"has no effect on " + work.getName() + ", because " + base.getSimpleName() + "." + caller.getName()
							+ ", by which it is called, is final",
					"Move it to " + work.getName() + ", or use the " + service() + " there");
			if (guarded.stream().allMatch(DeclarationCheck::isAccessor)) {
				throw trouble;
			}
			logger.warn(trouble.getMessage());
		});
	}

	private static boolean overrides(Method method, Class<?> base) {
		Method overridden = ReflectionUtils.findMethod(base, method.getName(), method.getParameterTypes());
		return overridden != null && !Modifier.isPrivate(overridden.getModifiers());
	}

	private static boolean isAccessor(Method method) {
		String name = method.getName();
		return (method.getParameterCount() == 0) ? name.startsWith("get") || name.startsWith("is")
				: method.getParameterCount() == 1 && name.startsWith("set");
	}

	private static String describe(Method method) {
		return method.getName() + Stream.of(method.getParameterTypes())
			.map(Class::getSimpleName)
			.collect(Collectors.joining(", ", "(", ")"));
	}

	private InvalidDeclarationException invalid(Class<?> annotated, String problem, String cure) {
		String place = "@" + this.annotationType.getSimpleName() + " on " + this.type.getName();
		return new InvalidDeclarationException(
				(annotated.equals(this.type) ? place : place + " (declared by " + annotated.getName() + ")") + " "
						+ problem,
				cure, null);
	}

}
