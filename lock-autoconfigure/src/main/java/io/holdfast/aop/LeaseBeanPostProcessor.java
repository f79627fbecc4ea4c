package io.holdfast.aop;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopConfigException;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.autoproxy.AbstractAutoProxyCreator;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.AbstractBeanFactory;
import org.springframework.context.EmbeddedValueResolverAware;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.Ordered;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.expression.spel.support.StandardTypeLocator;
import org.springframework.util.StringValueResolver;

/**
 * Has the methods of beans that are annotated with {@link Semaphore} or
 * {@link DistributedLock} run with their permits and under their locks, and refuses beans
 * whose annotations cannot be applied.
 *
 * <p>
 * A post-processor's advice goes around what earlier ones have added. By its
 * {@linkplain #DEFAULT_ORDER default order} this one comes after the auto-proxy creator,
 * which adds transactions, caches and aspects, and before those for {@code @Retryable},
 * {@code @ConcurrencyLimit} and {@code @Async}. It does not need the auto-proxy creator.
 */
@SuppressWarnings("serial")
public final class LeaseBeanPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
		implements EmbeddedValueResolverAware, SmartInitializingSingleton {

	/**
	 * After the auto-proxy creator, before the post-processors of {@code @Retryable} and
	 * {@code @Async}, which have the last two places, with some room in between.
	 */
	public static final int DEFAULT_ORDER = Ordered.LOWEST_PRECEDENCE - 20;

	private static final Log logger = LogFactory.getLog(LeaseBeanPostProcessor.class);

	private final StandardEvaluationContext delegates = new StandardEvaluationContext();

	/** The outermost first. */
	private final List<Guard<?, ?, ?>> guards;

	/**
	 * One for all guards, so that nothing can come between them or change their order.
	 */
	private final Advisor leaseAdvisor;

	private StringValueResolver resolver = (text) -> text;

	private Supplier<@Nullable MethodObserver> observer = () -> null;

	private Supplier<@Nullable Duration> longestLease = () -> null;

	private volatile boolean orderChecked;

	/**
	 * Create the post-processor.
	 * @param locks gives the lock service for annotations that name none; asked at the
	 * first call of a method that needs it, not before
	 * @param semaphores gives the semaphore service, likewise
	 */
	public LeaseBeanPostProcessor(Supplier<LockService> locks, Supplier<SemaphoreService> semaphores) {
		PlanReader reader = new PlanReader((text) -> this.resolver.resolveStringValue(text), this.delegates,
				() -> this.longestLease.get());
		Declarations<Semaphore, Plan<SemaphoreRequest>> limited = new Declarations<>(Semaphore.class,
				reader::semaphore);
		Declarations<DistributedLock, Plan<LockRequest>> locked = new Declarations<>(DistributedLock.class,
				reader::lock);
		this.guards = List.of(
				new Guard<>(limited, new Services<>(SemaphoreService.class, semaphores), new Acquisition.OfPermits()),
				new Guard<>(locked, new Services<>(LockService.class, locks), new Acquisition.OfLock()));
		this.leaseAdvisor = new DefaultPointcutAdvisor(new DeclaredPointcut(),
				new LeaseInterceptor(this.guards, () -> this.observer.get()));
		this.advisor = this.leaseAdvisor;
		setBeforeExistingAdvisors(true);
		setOrder(DEFAULT_ORDER);
	}

	/**
	 * Have the calls of annotated methods observed.
	 * @param observer gives who observes them, or {@code null}; asked at each call that
	 * needs something
	 */
	public void setMethodObserver(Supplier<@Nullable MethodObserver> observer) {
		this.observer = observer;
	}

	/**
	 * Refuse annotations with a longer lease than will be granted.
	 * @param longestLease gives the longest one, or {@code null} if there is no such
	 * bound; asked when a bean with a lease time of its own comes
	 */
	public void setLongestLease(Supplier<@Nullable Duration> longestLease) {
		this.longestLease = longestLease;
	}

	@Override
	public void setEmbeddedValueResolver(StringValueResolver resolver) {
		this.resolver = resolver;
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		super.setBeanFactory(beanFactory);
		this.delegates.setBeanResolver(new BeanFactoryResolver(beanFactory));
		this.guards.forEach((guard) -> guard.services().setBeanFactory(beanFactory));
	}

	@Override
	public void setBeanClassLoader(ClassLoader classLoader) {
		super.setBeanClassLoader(classLoader);
		this.delegates.setTypeLocator(new StandardTypeLocator(classLoader));
	}

	@Override
	public void afterSingletonsInstantiated() {
		this.guards.forEach((guard) -> guard.services().checkExpected());
	}

	@Override
	protected boolean isEligible(Class<?> targetClass) {
		return declarations(targetClass).findAny().isPresent();
	}

	private Stream<Declaration<?>> declarations(Class<?> type) {
		return this.guards.stream().flatMap((guard) -> guard.declarations().of(type).stream());
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof AopInfrastructureBean) {
			return bean;
		}
		Object result = (bean instanceof Advised advised && !advised.isFrozen()) ? advise(bean, advised)
				: wrap(bean, beanName);
		if (result != bean || (bean instanceof Advised advised && advised.indexOf(this.leaseAdvisor) >= 0)) {
			for (Class<?> type : typesOf(bean)) {
				this.guards.forEach((guard) -> guard.check(type, AopUtils.isCglibProxy(result)));
			}
			checkOrder();
		}
		return result;
	}

	/**
	 * Adds the advice to an existing proxy, once, also if that bean has several names.
	 */
	private Object advise(Object bean, Advised advised) {
		if (advised.indexOf(this.leaseAdvisor) < 0 && typesOf(bean).stream().anyMatch(this::isEligible)) {
			advised.addAdvisor(0, this.leaseAdvisor);
		}
		return bean;
	}

	/**
	 * The target's class and what it does not implement itself: a repository's proxy has
	 * an interface that its target knows nothing of.
	 */
	private static List<Class<?>> typesOf(Object bean) {
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		List<Class<?>> types = new ArrayList<>();
		types.add(targetClass);
		if (bean instanceof Advised advised) {
			for (Class<?> proxied : advised.getProxiedInterfaces()) {
				if (!proxied.isAssignableFrom(targetClass)) {
					types.add(proxied);
				}
			}
		}
		return types;
	}

	private Object wrap(Object bean, String beanName) {
		Object result;
		try {
			result = super.postProcessAfterInitialization(bean, beanName);
		}
		catch (AopConfigException ex) {
			throw notProxied(bean.getClass(), "because the bean cannot be proxied: " + ex.getMessage(),
					"Make the class non-final (in Kotlin: open, or use the kotlin-spring plugin), or have it implement "
							+ "an interface and proxy that",
					ex);
		}
		if (result == bean && AopUtils.isAopProxy(bean) && this.beanFactory != null) {
			Class<?> hidden = AutoProxyUtils.determineTargetClass(this.beanFactory, beanName);
			if (hidden != null && isEligible(hidden)) {
				throw notProxied(hidden, "because the bean's proxy is frozen or opaque and hides its class",
						"Configure its proxy to be neither", null);
			}
		}
		return result;
	}

	private InvalidDeclarationException notProxied(Class<?> type, String problem, String cure,
			@Nullable Exception cause) {
		return declarations(type).findFirst().orElseThrow().invalid("has no effect, " + problem, cure, cause);
	}

	/**
	 * An auto-proxy creator that comes later goes around this advice: what it adds,
	 * perhaps a transaction, is open while the lock is waited for.
	 */
	private void checkOrder() {
		if (this.orderChecked || !(this.beanFactory instanceof AbstractBeanFactory factory)) {
			return;
		}
		this.orderChecked = true;
		boolean later = false;
		for (BeanPostProcessor processor : factory.getBeanPostProcessors()) {
			later |= (processor == this);
			if (later && processor instanceof AbstractAutoProxyCreator creator) {
				logger.warn("The auto-proxy creator " + creator.getClass().getName() + " (order " + creator.getOrder()
						+ ") comes after the one for @DistributedLock and @Semaphore (order " + getOrder()
						+ "): transactions that it adds begin before the lock is waited for. Give it a lower order");
			}
		}
	}

	/**
	 * Matches what has a declaration.
	 */
	private final class DeclaredPointcut extends StaticMethodMatcherPointcut {

		@Override
		public boolean matches(Method method, Class<?> targetClass) {
			return LeaseBeanPostProcessor.this.guards.stream()
				.anyMatch((guard) -> guard.declarations().matches(method, targetClass));
		}

	}

}
