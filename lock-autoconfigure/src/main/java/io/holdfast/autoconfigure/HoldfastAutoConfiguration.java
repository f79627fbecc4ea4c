package io.holdfast.autoconfigure;

import java.time.Duration;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.LeakDetector;
import io.holdfast.engine.LeaseEngine;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

/**
 * {@link AutoConfiguration Auto-configuration} of a {@link LockService} and a
 * {@link SemaphoreService}, with the application's Redis or in memory, depending on the
 * property {@code holdfast.backend}.
 */
@AutoConfiguration(afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableConfigurationProperties(HoldfastProperties.class)
@Import({ MemoryBackendConfiguration.class, RedisBackendConfiguration.class })
public final class HoldfastAutoConfiguration {

	@Bean
	@ConditionalOnBean(LeaseEngine.class)
	@ConditionalOnMissingBean(LockService.class)
	DefaultLockService holdfastLockService(LeaseEngine engine) {
		return new DefaultLockService(engine);
	}

	@Bean
	@ConditionalOnBean(LeaseEngine.class)
	@ConditionalOnMissingBean(SemaphoreService.class)
	DefaultSemaphoreService holdfastSemaphoreService(LeaseEngine engine) {
		return new DefaultSemaphoreService(engine);
	}

	@Bean
	static LeaseEngineConfigurer holdfastLeaseEngineConfigurer(ObjectProvider<EngineObserver> observers,
			ConfigurableListableBeanFactory context, ApplicationEventPublisher publisher, Environment environment) {
		return new LeaseEngineConfigurer(observers, context, publisher, environment);
	}

	@Bean
	@ConditionalOnProperty("holdfast.leak-detection-threshold")
	LeakDetector holdfastLeakDetector(HoldfastProperties properties) {
		return new LeakDetector(properties.leakDetectionThreshold());
	}

	// One in each context, for the engines of this context: engines of a parent context
	// go on.
	@Bean
	LeaseEngineLifecycle holdfastLeaseEngineLifecycle(ConfigurableListableBeanFactory context, Environment environment,
			HoldfastProperties properties) {
		Duration phase = Binder.get(environment)
			.bind("spring.lifecycle.timeout-per-shutdown-phase", Duration.class)
			.orElse(Duration.ofSeconds(30));
		// Leave time to release the remaining leases within this phase of the shutdown.
		return new LeaseEngineLifecycle(context, phase.multipliedBy(4).dividedBy(5), properties.redis().checks());
	}

}
