package io.holdfast.aop;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiFunction;
import java.util.function.Supplier;

import io.holdfast.jdbc.FenceTableCheck;
import io.holdfast.jdbc.TransactionFences;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.scheduling.config.TaskManagementConfigUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/**
 * Handler of one type of annotation: its methods, and the beans that they need. A service
 * is looked up at a method's first call, or after all beans are created, so that advised
 * beans can be created before the service. Missing services are then refused.
 * Thread-safe.
 */
final class LeaseAnnotationHandler {

	private static final Log logger = LogFactory.getLog(LeaseAnnotationHandler.class);

	final AnnotatedMethods methods;

	private final BiFunction<LeaseAnnotationHandler, AnnotatedMethod, LeasedMethod> parser;

	final Class<?> serviceType;

	private final Supplier<?> unnamed;

	/** Methods whose beans are not checked yet. */
	private final Queue<LeasedMethod> expected = new ConcurrentLinkedQueue<>();

	/** Whether all beans are created. */
	private volatile boolean complete;

	private final Supplier<ConfigurableListableBeanFactory> beans;

	/** Services by the names of their beans. */
	final Map<String, Object> services = new ConcurrentHashMap<>();

	/** Services whose last call failed and was logged. */
	final Set<Object> failing = ConcurrentHashMap.newKeySet();

	/** Fenced methods for which a warning was logged. */
	final Set<Method> unchecked = ConcurrentHashMap.newKeySet();

	/**
	 * Create the handler.
	 * @param parser parses an annotation; throws {@link InvalidDeclarationException}
	 * @param unnamed supplies the service of annotations that name none
	 * @param beans supplies the bean factory, which exists before the first bean
	 */
	LeaseAnnotationHandler(Class<? extends Annotation> annotationType,
			BiFunction<LeaseAnnotationHandler, AnnotatedMethod, LeasedMethod> parser, Class<?> serviceType,
			Supplier<?> unnamed, Supplier<ConfigurableListableBeanFactory> beans) {
		this.methods = new AnnotatedMethods(annotationType,
				(text) -> new EmbeddedValueResolver(beans()).resolveStringValue(text));
		this.parser = parser;
		this.serviceType = serviceType;
		this.unnamed = unnamed;
		this.beans = beans;
	}

	/**
	 * Return the parsed annotation of a method. Not cached.
	 * @return the annotation, or {@code null} if the method has none
	 * @throws InvalidDeclarationException if the annotation cannot be applied
	 */
	@Nullable LeasedMethod find(Method method, Class<?> targetClass) {
		AnnotatedMethod found = this.methods.find(method, targetClass);
		return (found != null) ? this.parser.apply(this, found) : null;
	}

	/**
	 * Find the service of a method. Not guarded by a lock, which could cause a deadlock
	 * with the creation of beans.
	 */
	Object findService(LeasedMethod method) {
		Object service = method.serviceName().isEmpty() ? this.unnamed.get()
				: beans().getBean(method.serviceName(), this.serviceType);
		this.services.put(method.serviceName(), service);
		return service;
	}

	/**
	 * Parse an annotation, and check the beans that it needs, now or after all beans are
	 * created.
	 * @throws InvalidDeclarationException if the annotation cannot be applied
	 */
	void check(AnnotatedMethod annotatedMethod) {
		this.expected.add(this.parser.apply(this, annotatedMethod));
		if (this.complete) {
			checkExpected();
		}
	}

	/**
	 * Check the beans that calls will need, after all beans are created.
	 * @throws InvalidDeclarationException if a service is missing or ambiguous
	 */
	void checkBeans() {
		this.complete = true;
		checkExpected();
	}

	private void checkExpected() {
		Set<String> inTurns = new TreeSet<>();
		for (LeasedMethod next = this.expected.poll(); next != null; next = this.expected.poll()) {
			checkBeans(next);
			if (next.inTurns()
					&& beans().containsBean(TaskManagementConfigUtils.SCHEDULED_ANNOTATION_PROCESSOR_BEAN_NAME)) {
				inTurns.add(next.annotatedMethod().qualifiedMethodName());
			}
		}
		if (!inTurns.isEmpty()) {
			warnOfTurns(inTurns);
		}
	}

	private static void warnOfTurns(Set<String> methods) {
		logger
			.warn("Each instance runs these scheduled methods in its turn, as they wait for their lock, which is free "
					+ "after each run: " + String.join(", ", methods) + ". For one run in all instances, write "
					+ "@ScheduledLock(name = \"…\", minHold = \"…\") instead of @DistributedLock, with a minHold "
					+ "longer than the clocks of the instances differ, or, with fixedRate or fixedDelay, a little shorter than "
					+ "the period. If each instance is to run, write minHold = \"0\"");
	}

	/** Check the beans of a method, without creating the service. */
	private void checkBeans(LeasedMethod method) {
		if (method.serviceName().isEmpty()) {
			checkUnnamed(method);
		}
		else {
			checkService(method);
		}
		if (method.isFenced()) {
			checkFence(method);
		}
	}

	private void checkService(LeasedMethod method) {
		String name = method.serviceName();
		String type = this.serviceType.getSimpleName();
		String cure = "Write the name of a " + type + ", or leave it out for the only one";
		if (!beans().containsBean(name)) {
			throw method.annotatedMethod().invalid("service", name, "is the name of no bean", cure);
		}
		Class<?> actual = beans().getType(name, false);
		if (actual != null && !this.serviceType.isAssignableFrom(actual)
				&& !actual.isAssignableFrom(this.serviceType)) {
			throw method.annotatedMethod()
				.invalid("service", name,
						"is the name of a bean of type " + actual.getTypeName() + ", which is no " + type, cure);
		}
		keepIfCreated(method, name);
	}

	/** Fail, as each call would, if the unnamed service is missing or ambiguous. */
	private void checkUnnamed(LeasedMethod method) {
		String[] names = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans(), this.serviceType, true, false);
		if (names.length == 1) {
			keepIfCreated(method, names[0]);
			return;
		}
		try {
			findService(method);
		}
		catch (NoUniqueBeanDefinitionException ex) {
			throw method.annotatedMethod()
				.invalid(
						"names no service, and there are several beans of type " + this.serviceType.getSimpleName()
								+ ": " + ex.getBeanNamesFound(),
						"Name one by the attribute service, or mark one as @Primary, or the others as no default"
								+ " candidates")
				.causedBy(ex);
		}
	}

	/**
	 * Look a service up before the first call if the service exists. After the end of the
	 * context, a lookup would create another one, or fail.
	 */
	private void keepIfCreated(LeasedMethod method, String beanName) {
		if (!this.services.containsKey(method.serviceName()) && beans().containsSingleton(beanName)
				&& !beans().isFactoryBean(beanName)) {
			findService(method);
		}
	}

	/** Fail, as each call would, if transactions cannot be checked. */
	private void checkFence(LeasedMethod method) {
		TransactionFences fences = beans().getBeanProvider(TransactionFences.class).getIfAvailable();
		String obstacle = (fences != null) ? fences.obstacle()
				: "there is no bean for it: add spring-jdbc and a DataSource, with spring-boot-starter-jdbc or "
						+ "spring-boot-starter-data-jpa, and do not exclude HoldfastFenceAutoConfiguration";
		if (obstacle == null && isTableUnchecked()) {
			obstacle = "the declared type of the bean hides the method, so that nothing checks and cleans up the fence "
					+ "table: declare the class as the type of the bean, or set holdfast.fence.jdbc.enabled=true";
		}
		if (obstacle != null) {
			int cure = obstacle.indexOf(": ");
			throw method.annotatedMethod()
				.invalid("is fenced, which is not possible, because " + obstacle.substring(0, cure),
						StringUtils.capitalize(obstacle.substring(cure + 2)));
		}
	}

	/**
	 * Return whether no bean checks the fence table, although the check is possible and
	 * not switched off: its condition sees only the declared types of beans.
	 */
	private boolean isTableUnchecked() {
		return ClassUtils.isPresent("org.springframework.boot.jdbc.init.DataSourceScriptDatabaseInitializer",
				beans().getBeanClassLoader())
				&& BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans(), FenceTableCheck.class, true,
						false).length == 0
				&& !"false".equals(beans().resolveEmbeddedValue("${holdfast.fence.jdbc.enabled:}"));
	}

	ConfigurableListableBeanFactory beans() {
		return this.beans.get();
	}

}
