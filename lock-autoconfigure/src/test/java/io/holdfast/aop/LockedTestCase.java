package io.holdfast.aop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.AfterEach;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests of annotated beans in a context that is closed after the test.
 */
abstract class LockedTestCase {

	static final Duration SOON = Duration.ofSeconds(10);

	private final List<Consumer<AnnotationConfigApplicationContext>> registered = new ArrayList<>();

	private LockedContext context;

	/** Services of the started context. */
	RecordingLocks locks;

	RecordingSemaphores semaphores;

	/** Add a bean to the contexts that are started next. */
	final <T> void register(String name, Class<T> type, Supplier<T> bean, BeanDefinitionCustomizer... customizers) {
		this.registered.add((context) -> context.registerBean(name, type, bean, customizers));
	}

	/** Start a context with class proxies and the registered beans. */
	final void start() {
		startContext(LockedContext.CLASS_PROXIES, Map.of());
	}

	/** Start a context with class proxies, and return its first bean. */
	final <T> T start(Class<T> bean, Class<?>... others) {
		return start(Map.of(), bean, others);
	}

	final <T> T start(Map<String, Object> properties, Class<T> bean, Class<?>... others) {
		return start(LockedContext.CLASS_PROXIES, properties, bean, others);
	}

	final <T> T startWithOrder(int order, Class<T> bean, Class<?>... others) {
		return start((processor) -> processor.setOrder(order), Map.of(), bean, others);
	}

	private <T> T start(Consumer<LeaseBeanPostProcessor> settings, Map<String, Object> properties, Class<T> bean,
			Class<?>... others) {
		startContext(settings, properties, Stream.concat(Stream.of(bean), Stream.of(others)).toArray(Class<?>[]::new));
		return bean(bean);
	}

	/** Start a context whose beans are proxied for their interfaces. */
	final void startByInterface(Class<?>... beans) {
		startContext((processor) -> {
		}, Map.of(), beans);
	}

	private void startContext(Consumer<LeaseBeanPostProcessor> settings, Map<String, Object> properties,
			Class<?>... beans) {
		stop();
		this.context = new LockedContext(settings, properties, (context) -> register(context, beans));
		this.locks = this.context.locks();
		this.semaphores = this.context.semaphores();
	}

	private void register(AnnotationConfigApplicationContext context, Class<?>... beans) {
		this.registered.forEach((bean) -> bean.accept(context));
		Stream.of(beans).forEach(context::register);
	}

	/** Exception that stops the start of a context with these beans. */
	final InvalidDeclarationException refusal(Class<?>... beans) {
		return refusal(Map.of(), beans);
	}

	final InvalidDeclarationException refusal(Map<String, Object> properties, Class<?>... beans) {
		return LockedContext.refusal(properties, (context) -> register(context, beans));
	}

	@AfterEach
	final void stop() {
		if (this.context != null) {
			this.context.close();
		}
	}

	final ConfigurableListableBeanFactory beans() {
		return this.context.beans();
	}

	final <T> T bean(Class<T> type) {
		return this.context.bean(type);
	}

	final <T> T bean(String name, Class<T> type) {
		return this.context.bean(name, type);
	}

	final void assertEvents(String... events) {
		assertThat(this.locks.events()).containsExactly(events);
	}

	final void awaitEvents(String... events) {
		await().atMost(SOON).untilAsserted(() -> assertEvents(events));
	}

	/** Exception of a stage, as its callers get the exception. */
	static Throwable failure(CompletionStage<?> stage) {
		return catchThrowableOfType(ExecutionException.class,
				() -> stage.toCompletableFuture().get(10, TimeUnit.SECONDS))
			.getCause();
	}

	/** Proxy without a target, as a client of an HTTP interface. */
	static <T> T client(Class<T> type) {
		return ProxyFactory.getProxy(type, answer());
	}

	/** Proxy with an interface that its target lacks, as a repository. */
	static <T> T repository(Class<T> type, Object target) {
		ProxyFactory factory = new ProxyFactory(target);
		factory.setInterfaces(type);
		factory.addAdvice(answer());
		return type.cast(factory.getProxy());
	}

	static MethodInterceptor answer() {
		return (invocation) -> "intercepted " + invocation.getMethod().getName();
	}

}
