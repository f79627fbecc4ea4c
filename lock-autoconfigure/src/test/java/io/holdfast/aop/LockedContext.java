package io.holdfast.aop;

import java.util.Map;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;

import org.springframework.beans.factory.BeanCreationException;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.support.PropertySourcesPlaceholderConfigurer;
import org.springframework.core.env.MapPropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * An application context with the post-processor under test and recording services.
 */
final class LockedContext implements AutoCloseable {

	private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

	private boolean proxyTargetClass;

	private int order = LeaseBeanPostProcessor.DEFAULT_ORDER;

	private LockedContext(Map<String, Object> properties, Class<?>... beans) {
		this.context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
		this.context.registerBean(RecordingLocks.class, (definition) -> definition.setPrimary(true));
		this.context.registerBean(RecordingSemaphores.class, (definition) -> definition.setPrimary(true));
		this.context.registerBean(LeaseBeanPostProcessor.class, this::postProcessor);
		this.context.registerBean(ValidationAdvicePostProcessor.class);
		this.context.register(beans);
	}

	private LeaseBeanPostProcessor postProcessor() {
		LeaseBeanPostProcessor processor = new LeaseBeanPostProcessor(
				() -> this.context.getBeanProvider(LockService.class).getObject(),
				() -> this.context.getBeanProvider(SemaphoreService.class).getObject());
		processor.setProxyTargetClass(this.proxyTargetClass);
		processor.setOrder(this.order);
		return processor;
	}

	static LockedContext of(Class<?>... beans) {
		return new LockedContext(Map.of(), beans).refresh();
	}

	static LockedContext withClassProxies(Class<?>... beans) {
		return withClassProxies(Map.of(), beans);
	}

	static LockedContext withClassProxies(Map<String, Object> properties, Class<?>... beans) {
		LockedContext context = new LockedContext(properties, beans);
		context.proxyTargetClass = true;
		return context.refresh();
	}

	static LockedContext ordered(int order, Class<?>... beans) {
		LockedContext context = new LockedContext(Map.of(), beans);
		context.order = order;
		return context.refresh();
	}

	static LockedContext with(Map<String, Object> properties, Class<?>... beans) {
		return new LockedContext(properties, beans).refresh();
	}

	/** Refuses unknown placeholders, as the auto-configuration of Spring Boot. */
	static LockedContext strict(Map<String, Object> properties, Class<?>... beans) {
		LockedContext context = new LockedContext(properties, beans);
		context.context.addBeanFactoryPostProcessor(context.strictPlaceholders());
		return context.refresh();
	}

	/** Exception that stops the start of an application with these beans. */
	static InvalidDeclarationException failure(Map<String, Object> properties, Class<?>... beans) {
		Throwable thrown = catchThrowable(() -> withClassProxies(properties, beans).close());
		assertThat(thrown).isInstanceOf(BeanCreationException.class)
			.hasCauseInstanceOf(InvalidDeclarationException.class);
		return (InvalidDeclarationException) thrown.getCause();
	}

	private PropertySourcesPlaceholderConfigurer strictPlaceholders() {
		PropertySourcesPlaceholderConfigurer configurer = new PropertySourcesPlaceholderConfigurer();
		configurer.setEnvironment(this.context.getEnvironment());
		return configurer;
	}

	private LockedContext refresh() {
		try {
			this.context.refresh();
			return this;
		}
		catch (RuntimeException ex) {
			this.context.close();
			throw ex;
		}
	}

	<T> T bean(String name, Class<T> type) {
		return this.context.getBean(name, type);
	}

	<T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	RecordingLocks locks() {
		return this.context.getBean(RecordingLocks.class);
	}

	RecordingSemaphores semaphores() {
		return this.context.getBean(RecordingSemaphores.class);
	}

	@Override
	public void close() {
		this.context.close();
	}

}
