package io.holdfast.autoconfigure;

import java.util.Objects;

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
			ObjectProvider<SemaphoreService> semaphores, Environment environment) {
		HoldfastProperties properties = HoldfastProperties.of(environment);
		LeaseBeanPostProcessor processor = new LeaseBeanPostProcessor(() -> required(locks, LockService.class),
				() -> required(semaphores, SemaphoreService.class));
		processor.setDefaults(new Defaults(properties.lock().waitTime(), properties.lock().leaseTime(),
				properties.lock().lossMargin(), properties.longestLease(),
				OnStoreFailure.valueOf(properties.lock().onStoreFailure().name()),
				OnStoreFailure.valueOf(properties.semaphore().onStoreFailure().name())));
		processor.setProxyTargetClass(environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
		int order = Objects.requireNonNullElse(properties.aop().order(), LeaseBeanPostProcessor.DEFAULT_ORDER);
		PropertyBounds.checkOrder("aop.order", order);
		processor.setOrder(order);
		return processor;
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	static ValidationAdvicePostProcessor holdfastValidationAdvicePostProcessor() {
		return new ValidationAdvicePostProcessor();
	}

	private static <S> S required(ObjectProvider<S> services, Class<S> type) {
		S service = services.getIfAvailable();
		if (service == null) {
			throw new NoSuchBeanDefinitionException(type,
					"an annotated method needs it. " + MissingServiceFailureAnalyzer.CURE);
		}
		return service;
	}

}
