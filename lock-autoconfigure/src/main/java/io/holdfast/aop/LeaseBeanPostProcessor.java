package io.holdfast.aop;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.Semaphore;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopConfigException;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;
import org.springframework.aop.support.AbstractBeanFactoryPointcutAdvisor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.MethodClassKey;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationAwareOrderComparator;
import org.springframework.expression.spel.support.StandardTypeLocator;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Adds the advice for {@link Semaphore} and {@link DistributedLock} to annotated beans,
 * and refuses beans whose annotations cannot be applied.
 *
 * <p>
 * The {@linkplain #setOrder order} is the position of this advice among a bean's
 * advisors: a lower order is outside. With the {@linkplain #DEFAULT_ORDER default order},
 * the lock is inside method security and aspects with an order, and outside transactions,
 * caches and aspects without an order.
 *
 * <p>
 * Advice for resilience is always outside, with any order: Spring's {@code @Retryable}
 * and {@code @ConcurrencyLimit}, Spring Retry and Resilience4j.
 *
 * <p>
 * An order below the default is also the order of the post-processor. By default, the
 * post-processor runs after the auto-proxy creator, which it does not need. It runs
 * before the post-processors for {@code @Async}, which add their advice outside all other
 * advice, and for listeners.
 *
 * @see ValidationAdvicePostProcessor
 */
@SuppressWarnings("serial")
public final class LeaseBeanPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
		implements SmartInitializingSingleton {

	/**
	 * Default order: after method security and the auto-proxy creator, and before
	 * transactions and caches, which have the lowest precedence. Leaves room for the
	 * post-processors of {@code @Retryable} and {@code @Async}.
	 */
	public static final int DEFAULT_ORDER = Ordered.LOWEST_PRECEDENCE - 20;

	private static final Log logger = LogFactory.getLog(LeaseBeanPostProcessor.class);

	private static final @Nullable ClassLoader LOADER = LeaseBeanPostProcessor.class.getClassLoader();

	/**
	 * Method {@code JobDetail.getJobClass}, or {@code null} without Quartz, for jobs that
	 * Quartz creates when they run. The interface's method, which is available in a
	 * native image.
	 */
	private static final @Nullable Method JOB_CLASS = ClassUtils.isPresent("org.quartz.JobDetail", LOADER)
			? ReflectionUtils.findMethod(ClassUtils.resolveClassName("org.quartz.JobDetail", LOADER), "getJobClass")
			: null;

	private final LeaseAnnotationParser parser = new LeaseAnnotationParser();

	/** Handlers, the outermost first. */
	private final List<LeaseAnnotationHandler> handlers;

	/**
	 * Advisor for all annotations, so that no other advice can come between them or
	 * change their order.
	 */
	private final DefaultPointcutAdvisor leaseAdvisor;

	private final LeaseInterceptor interceptor;

	/** Checked beans: a definition may create many beans. */
	private final Set<CheckedBean> checked = ConcurrentHashMap.newKeySet();

	private final AtomicBoolean transactionWarned = new AtomicBoolean();

	/**
	 * Create the post-processor.
	 * @param locks supplies the lock service for annotations that name none; not called
	 * before the first call of such a method
	 * @param semaphores supplies the semaphore service for annotations that name none;
	 * not called before the first call of such a method
	 */
	public LeaseBeanPostProcessor(Supplier<LockService> locks, Supplier<SemaphoreService> semaphores) {
		this.handlers = List.of(
				new LeaseAnnotationHandler(Semaphore.class, this.parser::semaphore, SemaphoreService.class, semaphores,
						this::beans),
				new LeaseAnnotationHandler(DistributedLock.class, this.parser::lock, LockService.class, locks,
						this::beans));
		this.interceptor = new LeaseInterceptor(this.handlers, this::beans);
		this.leaseAdvisor = new DefaultPointcutAdvisor(new DeclaredPointcut(), this.interceptor);
		this.advisor = this.leaseAdvisor;
		setOrder(DEFAULT_ORDER);
	}

	@Override
	public void setOrder(int order) {
		// Not later: other post-processors would register the bean without its proxy.
		super.setOrder(Math.min(order, DEFAULT_ORDER));
		this.leaseAdvisor.setOrder(order);
	}

	/**
	 * Set the application's defaults, against which annotations are checked.
	 * @param defaults the defaults
	 */
	public void setDefaults(Defaults defaults) {
		this.parser.defaults = defaults;
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		super.setBeanFactory(beanFactory);
		this.parser.delegates.setBeanResolver(new BeanFactoryResolver(beanFactory));
	}

	@Override
	public void setBeanClassLoader(ClassLoader classLoader) {
		super.setBeanClassLoader(classLoader);
		this.parser.delegates.setTypeLocator(new StandardTypeLocator(classLoader));
	}

	@Override
	public void afterSingletonsInstantiated() {
		this.interceptor.checkBeans();
	}

	@Override
	protected boolean isEligible(Class<?> targetClass) {
		return annotatedMethods(targetClass).findAny().isPresent();
	}

	private Stream<AnnotatedMethod> annotatedMethods(Class<?> type) {
		return this.handlers.stream().flatMap((handler) -> handler.methods.of(type).stream());
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof AopInfrastructureBean) {
			return bean;
		}
		Object result = (bean instanceof Advised advised && !advised.isFrozen()) ? advise(bean, advised)
				: wrap(bean, beanName);
		CheckedBean checked = new CheckedBean(beans().containsBeanDefinition(beanName) ? beanName : "", typesOf(bean),
				AopUtils.isCglibProxy(result));
		if (!this.checked.contains(checked)) {
			check(checked, bean, beanName, result);
			this.checked.add(checked);
		}
		if (JOB_CLASS != null && JOB_CLASS.getDeclaringClass().isInstance(bean)
				&& ReflectionUtils.invokeMethod(JOB_CLASS, bean) instanceof Class<?> job) {
			check(job, new StartChecks.Bean(beanName, beans(), false, isProxyTargetClass(), List.of()));
		}
		return result;
	}

	private void check(CheckedBean checked, Object bean, String beanName, Object result) {
		// The container calls no callbacks of a bean that a factory bean created.
		boolean called = bean instanceof FactoryBean
				|| !beans().containsBean(BeanFactory.FACTORY_BEAN_PREFIX + beanName);
		List<Advisor> advisors = (result instanceof Advised advised) ? List.of(advised.getAdvisors()) : List.of();
		int place = advisors.indexOf(this.leaseAdvisor);
		List<Advisor> outside = advisors.subList(0, (place >= 0) ? place : advisors.size());
		StartChecks.Bean facts = new StartChecks.Bean(beanName, beans(), called, checked.classProxy(),
				advisors.subList(outside.size(), advisors.size()));
		for (Class<?> type : checked.types()) {
			check(type, facts);
			annotatedMethods(type)
				.forEach((method) -> outside.forEach((advisor) -> warnOfTransaction(method, advisor)));
		}
	}

	private void check(Class<?> type, StartChecks.Bean bean) {
		this.handlers.forEach((handler) -> new StartChecks(handler, ClassUtils.getUserClass(type), bean).run());
	}

	private ConfigurableListableBeanFactory beans() {
		ConfigurableListableBeanFactory beans = this.beanFactory;
		Assert.state(beans != null, "There is no bean factory");
		return beans;
	}

	/**
	 * Add the advice to an existing proxy, only once even if the bean has several names.
	 */
	private Object advise(Object bean, Advised advised) {
		if (advised.indexOf(this.leaseAdvisor) < 0 && typesOf(bean).stream().anyMatch(this::isEligible)) {
			int place = place(advised);
			advised.addAdvisor(place, this.leaseAdvisor);
			int exposing = advised.indexOf(ExposeInvocationInterceptor.ADVISOR);
			if (exposing >= 0 && exposing < place) {
				// Aspects need the exposed invocation on their thread, and the method may
				// run on another thread.
				advised.addAdvisor(place + 1, ExposeInvocationInterceptor.ADVISOR);
			}
		}
		return bean;
	}

	/**
	 * Return the position of the advice: after all advice of a lower order, and after all
	 * advice for resilience. The list may be unsorted, because post-processors add to
	 * both of its ends.
	 */
	private int place(Advised advised) {
		Advisor[] advisors = advised.getAdvisors();
		int place = 0;
		for (int i = 0; i < advisors.length; i++) {
			if (isBefore(advisors[i], this.leaseAdvisor)) {
				place = i + 1;
			}
			else if (advisors[i] instanceof AbstractBeanFactoryPointcutAdvisor) {
				// Advice for transactions and caches stays inside.
				break;
			}
		}
		for (int i = place; i < advisors.length; i++) {
			if (AdviceClassifier.isResilience(advisors[i])) {
				while (place < i && isBefore(advised.getAdvisors()[place], advisors[i])) {
					place++;
				}
				if (place < i) {
					// Move advice for resilience in front of other advice of the same
					// order.
					advised.removeAdvisor(i);
					advised.addAdvisor(place, advisors[i]);
				}
				place++;
			}
		}
		return place;
	}

	private static boolean isBefore(Advisor advisor, Advisor other) {
		return AnnotationAwareOrderComparator.INSTANCE.compare(advisor, other) < 0;
	}

	/** Warn once of a wait within the method's transaction. */
	private void warnOfTransaction(AnnotatedMethod annotatedMethod, Advisor advisor) {
		if (AdviceClassifier.isTransaction(advisor, annotatedMethod.method(), annotatedMethod.targetClass())
				&& this.transactionWarned.compareAndSet(false, true)) {
			boolean lower = isBefore(advisor, this.leaseAdvisor);
			logger.warn(annotatedMethod
					+ " is acquired inside of the method's transaction, which begins before the wait: "
					+ "the advice for transactions "
					+ (lower ? "has a lower order than that for @DistributedLock and @Semaphore ("
							+ this.leaseAdvisor.getOrder() + ")"
							: "is outside of that for retries, limits or circuit breakers, which locks are always inside of")
					+ ". Leave out the order of @EnableTransactionManagement"
					+ (lower ? ", or set holdfast.aop.order to a lower one" : ""));
		}
	}

	/**
	 * Return the target's class, and the interfaces that only the proxy implements. A
	 * repository's proxy has an interface that its target does not implement, and the
	 * proxy of a remote service has no target.
	 */
	private static List<Class<?>> typesOf(Object bean) {
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		if (!(bean instanceof Advised advised)) {
			return List.of(targetClass);
		}
		Stream<Class<?>> proxied = Stream.of(advised.getProxiedInterfaces());
		boolean remote = advised.getTargetClass() == null && advised.getProxiedInterfaces().length > 0;
		return remote ? proxied.toList()
				: Stream.concat(Stream.of(targetClass), proxied.filter((each) -> !each.isAssignableFrom(targetClass)))
					.toList();
	}

	private Object wrap(Object bean, String beanName) {
		Object result;
		try {
			result = super.postProcessAfterInitialization(bean, beanName);
		}
		catch (AopConfigException ex) {
			throw notProxied(bean.getClass(), "because the bean cannot be proxied: " + ex.getMessage(),
					"Make the class non-final (in Kotlin: declare it and its methods open, as the kotlin-spring plugin "
							+ "does only for annotated classes, not for those of @Bean methods), or have it "
							+ "implement an interface and set spring.aop.proxy-target-class=false")
				.causedBy(ex);
		}
		if (result == bean && (AopUtils.isAopProxy(bean) || Proxy.isProxyClass(bean.getClass()))
				&& beans().containsBean(beanName)) {
			Class<?> hidden = AutoProxyUtils.determineTargetClass(beans(), beanName);
			if (hidden != null && isEligible(hidden)) {
				throw notProxied(hidden,
						"because the bean's proxy hides its class: it is frozen or opaque, or not of Spring",
						"Configure the proxy to be neither, or annotate its interface");
			}
		}
		return result;
	}

	private InvalidDeclarationException notProxied(Class<?> type, String problem, String cure) {
		return annotatedMethods(type).findFirst().orElseThrow().invalid("has no effect, " + problem, cure);
	}

	/**
	 * Application's defaults, and its maximum lease time.
	 *
	 * @param lockWaitTime the default wait time of locks, for the warning of scheduled
	 * methods that each instance runs in its turn
	 * @param lockLease the default lease time of locks, or {@code null} if it is unknown;
	 * a loss margin of more than a third of it is refused
	 * @param lockMargin the default loss margin of locks, or {@code null} if it is
	 * unknown
	 * @param longestLease the maximum lease time, or {@code null} if there is none; a
	 * longer lease time is refused
	 * @param onLockFailure the outcome of a failure of the store for locks with
	 * {@link OnStoreFailure#DEFAULT}: {@code THROW} or {@code FALLBACK}
	 * @param onSemaphoreFailure the outcome for permits: {@code THROW}, {@code FALLBACK}
	 * or {@code PROCEED}
	 */
	public record Defaults(Duration lockWaitTime, @Nullable Duration lockLease, @Nullable Duration lockMargin,
			@Nullable Duration longestLease, OnStoreFailure onLockFailure, OnStoreFailure onSemaphoreFailure) {

		/** Defaults that are not known. */
		public static final Defaults NONE = new Defaults(Duration.ZERO, null, null, null, OnStoreFailure.THROW,
				OnStoreFailure.THROW);

	}

	/**
	 * Beans whose declarations were checked.
	 *
	 * @param beanName the name of the bean definition; empty for beans without a
	 * definition, whose names are unlimited in number
	 * @param types the types that may be annotated
	 * @param classProxy whether the proxy is a subclass of the first type
	 */
	private record CheckedBean(String beanName, List<Class<?>> types, boolean classProxy) {

	}

	/**
	 * Matches annotated methods.
	 */
	private final class DeclaredPointcut extends StaticMethodMatcherPointcut {

		/** Results of matching, cached because each new proxy matches again. */
		private final Map<MethodClassKey, Boolean> known = new ConcurrentHashMap<>();

		@Override
		public boolean matches(Method method, Class<?> targetClass) {
			return this.known.computeIfAbsent(new MethodClassKey(method, targetClass),
					(key) -> LeaseBeanPostProcessor.this.handlers.stream()
						.anyMatch((handler) -> handler.methods.find(method, targetClass) != null));
		}

	}

}
