package io.holdfast.autoconfigure;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

import io.holdfast.KeyNamespace;
import io.holdfast.LockService;
import io.holdfast.LeaseLostEvent;
import io.holdfast.aop.ApplicationBean;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.DaemonThreads;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.LeakDetector;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.InstanceInfo;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.BeansException;
import org.springframework.beans.factory.BeanCurrentlyInCreationException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.PriorityOrdered;
import org.springframework.core.env.Environment;

/**
 * Connects each engine of the context with the application: registers the beans that
 * observe engines, publishes lost leases as events, sets the class loader of threads, and
 * registers the instance for operators. Sets the application's namespace of keys in
 * services. Has precedence over post-processors of the application, which may need a
 * service.
 */
final class LeaseEngineConfigurer implements BeanPostProcessor, PriorityOrdered, SmartInitializingSingleton {

	private static final Log logger = LogFactory.getLog(LeaseEngineConfigurer.class);

	/** Timeout of the lookup of the host's name, in milliseconds. */
	private static final long NAME_MILLIS = 300;

	private final ConfigurableListableBeanFactory beans;

	private final ObjectProvider<EngineObserver> observers;

	/**
	 * Engines without observers yet: created before the post-processors of observers, or
	 * needed by an observer.
	 */
	private final Queue<LeaseEngine> unobserved = new ConcurrentLinkedQueue<>();

	private final ApplicationBean<KeyNamespace> namespace;

	private final ApplicationEventPublisher publisher;

	private final Environment environment;

	/** Create the configurer of the engines of a context. */
	LeaseEngineConfigurer(ObjectProvider<EngineObserver> observers, ConfigurableListableBeanFactory beans,
			ApplicationEventPublisher publisher, Environment environment) {
		this.beans = beans;
		this.observers = observers;
		this.namespace = new ApplicationBean<>(() -> beans, KeyNamespace.class);
		this.publisher = publisher;
		this.environment = environment;
	}

	/** Configure a bean before it may get a proxy, which may hide its type. */
	@Override
	public Object postProcessBeforeInitialization(Object bean, String beanName) {
		if (bean instanceof LeaseEngine engine) {
			engine.setClassLoader(this.beans.getBeanClassLoader());
			namespace().ifPresent(engine::setKeyNamespace);
		}
		else if (bean instanceof LeakDetector leaks) {
			leaks.setClassLoader(this.beans.getBeanClassLoader());
		}
		else if (bean instanceof DefaultLockService locks) {
			namespace().ifPresent(locks::setKeyNamespace);
		}
		else if (bean instanceof DefaultSemaphoreService semaphores) {
			namespace().ifPresent(semaphores::setKeyNamespace);
		}
		return bean;
	}

	/**
	 * Return the namespace, which delegates to the bean in the current scope. A bean that
	 * itself needs a service is looked up later.
	 */
	private Optional<KeyNamespace> namespace() {
		try {
			return this.namespace.find().map((bean) -> () -> bean.get().current());
		}
		catch (BeansException ex) {
			checkCircle(ex);
			return Optional.of(() -> this.namespace.find().orElseThrow().get().current());
		}
	}

	/**
	 * Refuse a namespace beside services of a parent context: only annotated methods
	 * would have it, and lock other keys than the services.
	 */
	private void checkNamespace() {
		String[] namespaces = this.beans.getBeanNamesForType(KeyNamespace.class, true, false);
		if (namespaces.length > 0 && this.beans.getBeanNamesForType(LockService.class, true, false).length == 0
				&& this.beans.getBeanProvider(LockService.class).stream().findAny().isPresent()) {
			throw new IllegalStateException("The KeyNamespace '" + namespaces[0] + "' would not prefix the keys of the "
					+ "LockService, which is a bean of a parent context: define the KeyNamespace in that context");
		}
	}

	/** Rethrow an exception, unless its cause is a circular dependency. */
	private static void checkCircle(BeansException ex) {
		if (!ex.contains(BeanCurrentlyInCreationException.class)) {
			throw ex;
		}
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof LeaseEngine engine) {
			engine.onLost(this::publish);
			this.unobserved.add(engine);
			if (this.beans.isConfigurationFrozen()) {
				try {
					observeEngines();
				}
				catch (BeansException ex) {
					// An observer needs this engine, and is created at the start.
					checkCircle(ex);
				}
			}
			Fleet.of(engine).register(this::info);
		}
		return bean;
	}

	@Override
	public void afterSingletonsInstantiated() {
		checkNamespace();
		observeEngines();
	}

	/** Create the observers, also those of a lazy application, which may need engines. */
	private void observeEngines() {
		List<EngineObserver> engineObservers = this.observers.orderedStream().toList();
		for (LeaseEngine engine = this.unobserved.poll(); engine != null; engine = this.unobserved.poll()) {
			engineObservers.forEach(engine::observe);
		}
	}

	@Override
	public int getOrder() {
		return LOWEST_PRECEDENCE;
	}

	private void publish(LeaseLostEvent event) {
		try {
			this.publisher.publishEvent(event);
		}
		catch (IllegalStateException ex) {
			if (!(this.publisher instanceof ConfigurableApplicationContext context && context.isClosed())) {
				// The exception of a listener.
				throw ex;
			}
			// The context is closed and has no listeners any more.
			logger.debug("The loss of '" + SingleLine.of(event.key()) + "' was not published", ex);
		}
	}

	private InstanceInfo info() {
		return new InstanceInfo(this.environment.getProperty("spring.application.name", InstanceInfo.UNKNOWN), host(),
				ProcessHandle.current().pid());
	}

	/**
	 * Return the name of this host. The first requests wait for it, for
	 * {@link #NAME_MILLIS} at most.
	 */
	private String host() {
		DaemonThreads threads = new DaemonThreads();
		threads.setClassLoader(this.beans.getBeanClassLoader());
		// Not in the common pool, whose threads may all wait for the request.
		return BlockingWait.join(CompletableFuture
			.supplyAsync(LeaseEngineConfigurer::lookUpHost, (task) -> threads.start(task, "holdfast-host"))
			.completeOnTimeout(InstanceInfo.UNKNOWN, NAME_MILLIS, TimeUnit.MILLISECONDS));
	}

	private static String lookUpHost() {
		try {
			return InetAddress.getLocalHost().getHostName();
		}
		catch (UnknownHostException ex) {
			return InstanceInfo.UNKNOWN;
		}
	}

}
