package io.holdfast.autoconfigure;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.aop.LeaseBeanPostProcessor;
import io.holdfast.aop.LeaseBeanPostProcessor.Defaults;
import io.holdfast.aop.ValidationAdvicePostProcessor;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * {@link AutoConfiguration Auto-configuration} of the annotations. It does not depend on
 * Redis: an application with annotated methods but without a {@link LockService} or
 * {@link SemaphoreService} fails at the start, instead of running the methods without a
 * lock or permit.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnBooleanProperty(name = { "holdfast.enabled", "holdfast.aop.enabled" }, matchIfMissing = true)
public final class HoldfastAopAutoConfiguration {

	// One in each context: a post-processor does not process the beans of child contexts.
	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	static LeaseBeanPostProcessor holdfastLeaseBeanPostProcessor(ObjectProvider<LockService> locks,
			ObjectProvider<SemaphoreService> semaphores, ObjectProvider<HoldfastProperties> properties,
			Environment environment) {
		// Post-processors are created before configuration properties can be bound as
		// beans.
		LeaseBeanPostProcessor processor = new LeaseBeanPostProcessor(() -> required(locks, LockService.class),
				() -> required(semaphores, SemaphoreService.class));
		processor.setDefaults(() -> {
			HoldfastProperties values = properties.getIfAvailable();
			return (values != null) ? new Defaults(values.lock().waitTime(), values.lock().leaseTime(),
					values.lock().lossMargin(), values.longestLease()) : Defaults.NONE;
		});
		processor.setProxyTargetClass(environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
		int order = Binder.get(environment)
			.bind("holdfast.aop.order", Integer.class)
			.orElse(LeaseBeanPostProcessor.DEFAULT_ORDER);
		PropertyBounds.checkOrder("aop.order", order);
		processor.setOrder(order);
		processor.setOnStoreFailure(onStoreFailure(environment, "lock", HoldfastProperties.Lock.OnStoreFailure.class),
				onStoreFailure(environment, "semaphore", HoldfastProperties.Semaphore.OnStoreFailure.class));
		return processor;
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	static ValidationAdvicePostProcessor holdfastValidationAdvicePostProcessor() {
		return new ValidationAdvicePostProcessor();
	}

	private static <E extends Enum<E>> OnStoreFailure onStoreFailure(Environment environment, String kind,
			Class<E> values) {
		return Binder.get(environment)
			.bind("holdfast." + kind + ".on-store-failure", values)
			.map((value) -> OnStoreFailure.valueOf(value.name()))
			.orElse(OnStoreFailure.THROW);
	}

	private static <S> S required(ObjectProvider<S> services, Class<S> type) {
		S service = services.getIfAvailable();
		if (service == null) {
			throw new NoSuchBeanDefinitionException(type,
					"an annotated method asks for it. " + MissingServiceFailureAnalyzer.CURE);
		}
		return service;
	}

}
