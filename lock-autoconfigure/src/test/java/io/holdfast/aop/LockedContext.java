package io.holdfast.aop;

import java.util.Map;
import java.util.function.Consumer;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;

import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

/**
 * An application context with the post-processor under test and recording services.
 */
final class LockedContext implements AutoCloseable {

	static final Consumer<LeaseBeanPostProcessor> CLASS_PROXIES = (processor) -> processor.setProxyTargetClass(true);

	private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

	/** Start with class proxies, as Spring Boot by default. */
	LockedContext(Class<?>... beans) {
		this(CLASS_PROXIES, Map.of(), (context) -> context.register(beans));
	}

	LockedContext(Consumer<LeaseBeanPostProcessor> settings, Map<String, Object> properties,
			Consumer<AnnotationConfigApplicationContext> beans) {
		this.context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
		this.context.registerBean(RecordingLocks.class, (definition) -> definition.setPrimary(true));
		this.context.registerBean(RecordingSemaphores.class, (definition) -> definition.setPrimary(true));
		this.context.registerBean(LeaseBeanPostProcessor.class, () -> {
			LeaseBeanPostProcessor processor = new LeaseBeanPostProcessor(
					() -> this.context.getBeanProvider(LockService.class).getObject(),
					() -> this.context.getBeanProvider(SemaphoreService.class).getObject());
			settings.accept(processor);
			return processor;
		});
		this.context.registerBean(ValidationAdvicePostProcessor.class);
		beans.accept(this.context);
		try {
			this.context.refresh();
		}
		catch (RuntimeException ex) {
			this.context.close();
			throw ex;
		}
	}

	/** Exception that stops the start of a context with class proxies. */
	static InvalidDeclarationException refusal(Map<String, Object> properties,
			Consumer<AnnotationConfigApplicationContext> beans) {
		Exception failure = catchThrowableOfType(BeanCreationException.class,
				() -> new LockedContext(CLASS_PROXIES, properties, beans).close());
		assertThat(failure).hasCauseInstanceOf(InvalidDeclarationException.class);
		return (InvalidDeclarationException) failure.getCause();
	}

	ConfigurableListableBeanFactory beans() {
		return this.context.getBeanFactory();
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
