package io.holdfast.aop;

import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Checks of an annotation of a type when its bean is created. A declaration that cannot
 * be applied, or would have no effect, is refused with an
 * {@link InvalidDeclarationException}.
 *
 * @param handler the handler of the annotation
 * @param type the type, without proxies
 * @param bean the bean
 */
record StartChecks(LeaseAnnotationHandler handler, Class<?> type, Bean bean) {

	private static final String INTEGRATION = "org.springframework.integration.annotation.";

	/**
	 * Annotations of methods that are called by frameworks, often as meta-annotations.
	 * {@code MessageMapping} covers the listeners of Kafka, Rabbit, JMS and Pulsar.
	 */
	private static final List<String> ENTRIES = List.of("org.springframework.context.event.EventListener",
			"org.springframework.scheduling.annotation.Scheduled",
			"org.springframework.messaging.handler.annotation.MessageMapping", INTEGRATION + "Aggregator",
			INTEGRATION + "Filter", INTEGRATION + "InboundChannelAdapter", INTEGRATION + "Router",
			INTEGRATION + "ServiceActivator", INTEGRATION + "Splitter", INTEGRATION + "Transformer",
			"org.springframework.web.bind.annotation.RequestMapping", "io.awspring.cloud.sqs.annotation.SqsListener");

	private static final String POST_CONSTRUCT = "jakarta.annotation.PostConstruct";

	private static final String AUTOWIRED = "org.springframework.beans.factory.annotation.Autowired";

	private static final String PRE_DESTROY = "jakarta.annotation.PreDestroy";

	/**
	 * Check the methods, then the type, then the callers of the methods.
	 * @throws InvalidDeclarationException if the annotation cannot be applied
	 */
	void run() {
		for (AnnotatedMethod method : methods()) {
			if (!this.handler.methods.isKotlinOverload(method.method())) {
				refuseFactory(method);
				refusePastProxy(method);
				refuseSeveral(method);
				refuseRival(method);
				refuseUnfollowed(method);
				refuseNotOverridable(method);
				this.handler.check(method);
			}
		}
		if (ofType().getSource() instanceof Class<?> annotated) {
			refuseRivalOfType(annotated);
			checkMethodsOfType(annotated);
		}
		for (AnnotatedMethod method : methods()) {
			refuseCallback(method);
			refuseHandedOver(method);
		}
	}

	private Collection<AnnotatedMethod> methods() {
		return this.handler.methods.of(this.type);
	}

	/** Return the annotation of the type itself, which may be missing. */
	private MergedAnnotation<?> ofType() {
		return this.handler.methods.search(this.type);
	}

	private void refuseFactory(AnnotatedMethod annotated) {
		if (AnnotatedMethods.makesBean(annotated.method())) {
			throw annotated.invalid("is held while the bean is created, and not while its methods run", "Move it to "
					+ work(annotated.returned().toClass())
					+ ", or to a method of another bean that this bean calls. To create the bean under it, use the "
					+ this.handler.serviceType.getSimpleName() + " in the method");
		}
	}

	/** Return a description of the methods that do the work of a bean. */
	private static String work(Class<?> made) {
		List<Method> open = made.isInterface() ? Stream.of(made.getMethods())
			.filter((method) -> Modifier.isAbstract(method.getModifiers()) && !ReflectionUtils.isObjectMethod(method))
			.toList() : List.of();
		return (open.size() == 1)
				? "the method " + open.get(0).getName() + " of a class that implements " + made.getSimpleName()
				: "the methods of the bean's class";
	}

	private static void refusePastProxy(AnnotatedMethod annotated) {
		int modifiers = annotated.method().getModifiers();
		annotated.refuseIf(Modifier.isStatic(modifiers) || Modifier.isPrivate(modifiers),
				"has no effect, because the method is " + (Modifier.isStatic(modifiers) ? "static" : "private")
						+ " and so is called past the bean's proxy",
				"Make it a public method of the bean and call it from another bean");
	}

	private void refuseSeveral(AnnotatedMethod annotated) {
		List<String> competing = MergedAnnotations.from(annotated.source(), SearchStrategy.DIRECT)
			.stream(this.handler.methods.annotationType)
			.map((found) -> "@" + found.getRoot().getType().getSimpleName())
			.toList();
		annotated.refuseIf(competing.size() > 1,
				"is there " + competing.size() + " times, by " + String.join(" and ", competing)
						+ ", of which only one would apply",
				"Leave one of them, or have the method call an annotated one of another bean");
	}

	private void refuseRival(AnnotatedMethod annotated) {
		Class<?> rival = rival(annotated.annotation(), onMethods(annotated.method()));
		if (rival != null) {
			throw annotated.invalid("differs from that of " + rival.getName() + ", and only one of them would apply",
					"Annotate the method of the class itself");
		}
	}

	/**
	 * Return the annotations of a method, and of the methods of interfaces that it
	 * implements.
	 */
	private Stream<? extends MergedAnnotation<?>> onMethods(Method method) {
		Stream<Method> implemented = ClassUtils.getAllInterfacesForClassAsSet(this.type)
			.stream()
			.map((implementedInterface) -> ReflectionUtils.findMethod(implementedInterface, method.getName(),
					method.getParameterTypes()))
			.filter(Method.class::isInstance);
		return Stream.concat(Stream.of(method), implemented)
			.flatMap((declared) -> MergedAnnotations.from(declared, SearchStrategy.TYPE_HIERARCHY)
				.stream(this.handler.methods.annotationType));
	}

	/**
	 * Return the type whose annotation conflicts with the applied annotation of an
	 * interface, or {@code null}: another interface, or the base class, which Spring
	 * searches later. Super-interfaces do not conflict, and an annotated class overrides
	 * all interfaces.
	 */
	private static @Nullable Class<?> rival(MergedAnnotation<?> applied, Stream<? extends MergedAnnotation<?>> all) {
		Class<?> place = place(applied);
		return all
			.filter((other) -> place.isInterface() && !place(other).isAssignableFrom(place)
					&& !other.asMap().equals(applied.asMap()))
			.<Class<?>>map(StartChecks::place)
			.findFirst()
			.orElse(null);
	}

	private static Class<?> place(MergedAnnotation<?> annotation) {
		if (annotation.getSource() instanceof Class<?> type) {
			return type;
		}
		return (annotation.getSource() instanceof Member member) ? member.getDeclaringClass() : Object.class;
	}

	private static void refuseUnfollowed(AnnotatedMethod annotated) {
		if (ReturnKind.of(annotated) == ReturnKind.UNSUPPORTED) {
			throw ReturnKind.unsupported(annotated);
		}
	}

	private void refuseNotOverridable(AnnotatedMethod annotated) {
		Method method = annotated.method();
		if (!this.bean.classProxy() || !isMeant(annotated)) {
			return;
		}
		annotated.refuseIf(Modifier.isFinal(method.getModifiers()),
				"has no effect, because the method is final and the bean's proxy is a subclass of its class",
				"Make the method non-final (in Kotlin: open, or use the kotlin-spring plugin)");
		Class<?> declaring = method.getDeclaringClass();
		boolean packagePrivate = (method.getModifiers()
				& (Modifier.PUBLIC | Modifier.PROTECTED | Modifier.PRIVATE)) == 0;
		annotated.refuseIf(
				packagePrivate && !(declaring.getPackageName().equals(this.type.getPackageName())
						&& declaring.getClassLoader() == this.type.getClassLoader()),
				"has no effect, because the method is package-private, and the bean's proxy is in another package "
						+ "than " + declaring.getName(),
				"Make the method public or protected");
	}

	/**
	 * Return whether a method is intentionally annotated. Methods that an annotated type
	 * only inherits, such as those of a framework's base class, are not.
	 */
	private boolean isMeant(AnnotatedMethod annotatedMethod) {
		return !(annotatedMethod.source() instanceof Class<?> annotated)
				|| annotated.isAssignableFrom(annotatedMethod.method().getDeclaringClass());
	}

	private void refuseRivalOfType(Class<?> annotated) {
		Class<?> rival = methods().stream().anyMatch((method) -> method.source().equals(annotated))
				? rival(ofType(), MergedAnnotations.from(this.type, SearchStrategy.TYPE_HIERARCHY)
					.stream(this.handler.methods.annotationType))
				: null;
		if (rival != null) {
			throw invalid(annotated, "differs from that of " + rival.getName() + ", and only one of them would apply",
					"Annotate the class itself, or the methods");
		}
	}

	/**
	 * Refuse an annotation of a type that applies to no method, or not to the method that
	 * frameworks call.
	 */
	private void checkMethodsOfType(Class<?> annotated) {
		refuseInherited(annotated);
		Stream.of(ReflectionUtils.getUniqueDeclaredMethods(this.type))
			.filter((method) -> annotated.isAssignableFrom(method.getDeclaringClass())
					&& !Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())
					&& !method.isSynthetic()
					&& methods().stream().noneMatch((annotatedMethod) -> annotatedMethod.method().equals(method)))
			.forEach((method) -> checkEntry(annotated, method));
		boolean guards = methods().stream()
			.map(AnnotatedMethod::method)
			.anyMatch((method) -> !(this.bean.classProxy() && Modifier.isFinal(method.getModifiers()))
					&& !this.bean.isCallback(method, this.type));
		if (!guards) {
			throw invalid(annotated,
					"has no effect, because it applies to public methods that the bean's proxy can advise, and "
							+ this.type.getSimpleName() + " has none",
					"Make the method that does the work public, or annotate that method");
		}
	}

	/**
	 * Refuse an annotated interface that inherits methods, and that only the proxy
	 * implements. A call of such a method does not show the annotated interface.
	 */
	private void refuseInherited(Class<?> annotated) {
		methods().stream()
			.filter((method) -> this.type.isInterface() && method.source().equals(annotated))
			.map(AnnotatedMethod::method)
			.filter((method) -> !method.getDeclaringClass().equals(annotated)
					&& method.getDeclaringClass().isAssignableFrom(annotated))
			.findFirst()
			.ifPresent((method) -> {
				throw invalid(annotated,
						"has no effect on " + method.getName()
								+ AnnotatedMethod.inBrackets(List.of(method.getParameterTypes()))
								+ ", which is inherited from " + method.getDeclaringClass().getName()
								+ ", because only the bean's proxy implements " + annotated.getSimpleName(),
						"Declare the method in " + annotated.getSimpleName() + ", too, or annotate methods instead");
			});
	}

	private void checkEntry(Class<?> annotated, Method method) {
		MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
		ENTRIES.stream().map(annotations::get).filter(MergedAnnotation::isPresent).findFirst().ifPresent((entry) -> {
			throw invalid(annotated,
					"has no effect on " + method.getName()
							+ AnnotatedMethod.inBrackets(List.of(method.getParameterTypes())) + ", which is called by @"
							+ entry.getRoot().getType().getSimpleName() + ", because the method is not public",
					"Make the method public, or annotate the methods instead of the type");
		});
	}

	/**
	 * Refuse an annotated method that the container calls past the proxy. Annotations of
	 * types do not apply to such methods.
	 */
	private void refuseCallback(AnnotatedMethod annotated) {
		if (annotated.source() instanceof Method && this.bean.isCallback(annotated.method(), this.type)) {
			boolean init = this.bean.isInit(annotated.method(), this.type);
			boolean inferred = List.of("close", "shutdown").contains(annotated.method().getName());
			throw annotated.invalid(
					"has no effect, because the container calls the method past the bean's proxy, when it "
							+ (init ? "creates" : "destroys") + " the bean",
					"Call an annotated method of another bean from it, or use the service there"
							+ (init ? ", or do the work in an @EventListener for ApplicationReadyEvent"
									: inferred ? ", or prevent the call by @Bean(destroyMethod = \"\")" : ""));
		}
	}

	/** Refuse a lease that would end when the method is handed to another thread. */
	private void refuseHandedOver(AnnotatedMethod annotated) {
		boolean handedOver = AdviceClassifier.isAsyncWovenIn(this.bean.factory(), annotated) || this.bean.inside()
			.stream()
			.anyMatch((advisor) -> AdviceClassifier.isAsync(advisor, annotated.method(), this.type));
		annotated.refuseIf(handedOver && ReturnKind.of(annotated) == ReturnKind.PLAIN,
				"would end when the method is handed to its executor, because the advice for @Async is inside of it",
				"Return a CompletableFuture, or let the advice for @Async come first (as it does with plain @EnableAsync), "
						+ "or annotate the method that does the work");
	}

	private InvalidDeclarationException invalid(Class<?> annotated, String problem, String cure) {
		String place = "@" + this.handler.methods.annotationType.getSimpleName() + " on " + this.type.getName();
		return new InvalidDeclarationException(
				(annotated.equals(this.type) ? place : place + " (declared by " + annotated.getName() + ")") + " "
						+ problem,
				cure);
	}

	/**
	 * The checked bean.
	 *
	 * @param name the name of the bean
	 * @param factory the bean factory
	 * @param called whether the container calls callbacks of the bean, past its proxy, on
	 * creation or destruction
	 * @param classProxy whether the proxy is a subclass of the bean's class
	 * @param inside the advisors inside the leases
	 */
	record Bean(String name, ConfigurableListableBeanFactory factory, boolean called, boolean classProxy,
			List<Advisor> inside) {

		/**
		 * Return whether a method is a callback that the container calls past the proxy.
		 */
		boolean isCallback(Method method, Class<?> type) {
			return isInit(method, type) || isDestroy(method, type);
		}

		/** Return whether a method is called when the bean is created. */
		boolean isInit(Method method, Class<?> type) {
			return this.called && (Stream.of(POST_CONSTRUCT, AUTOWIRED)
				.anyMatch((name) -> AnnotatedMethod.isAnnotated(method, name))
					|| is(method, "afterPropertiesSet", InitializingBean.class, type)
					|| is(method, defined(BeanDefinition::getInitMethodName), type, type));
		}

		private boolean isDestroy(Method method, Class<?> type) {
			String destroy = defined(BeanDefinition::getDestroyMethodName);
			if ((destroy != null) ? destroy.equals(AbstractBeanDefinition.INFER_METHOD)
					: AutoCloseable.class.isAssignableFrom(type)) {
				destroy = DisposableBean.class.isAssignableFrom(type) ? "destroy"
						: ClassUtils.hasMethod(type, "close") ? "close" : "shutdown";
			}
			// The default stop(Runnable) of a SmartLifecycle calls stop() past the proxy.
			return this.called && !BeanDefinition.SCOPE_PROTOTYPE.equals(defined(BeanDefinition::getScope))
					&& (AnnotatedMethod.isAnnotated(method, PRE_DESTROY)
							|| is(method, "destroy", DisposableBean.class, type)
							|| is(method, "stop", SmartLifecycle.class, type) || is(method, destroy, type, type));
		}

		private @Nullable String defined(Function<BeanDefinition, @Nullable String> attribute) {
			return this.factory.containsBeanDefinition(this.name)
					? attribute.apply(this.factory.getMergedBeanDefinition(this.name)) : null;
		}

		private static boolean is(Method method, @Nullable String name, Class<?> callback, Class<?> type) {
			return callback.isAssignableFrom(type) && method.getParameterCount() == 0 && method.getName().equals(name);
		}

	}

}
