package io.holdfast.autoconfigure;

import java.time.Duration;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.redis.RedisLeaseStore;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * {@link AutoConfiguration Auto-configuration} of a {@link LockService} and a
 * {@link SemaphoreService} on the application's Redis.
 */
@AutoConfiguration(afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnClass(RedisConnectionFactory.class)
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnSingleCandidate(RedisConnectionFactory.class)
@EnableConfigurationProperties(HoldfastProperties.class)
public final class HoldfastAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	LeaseEngine holdfastLeaseEngine(RedisConnectionFactory connectionFactory, HoldfastProperties properties) {
		properties.check();
		// A template of our own: what the application does with its own must not matter.
		RedisLeaseStore store = new RedisLeaseStore(new StringRedisTemplate(connectionFactory),
				properties.storeOptions());
		return new LeaseEngine(store, properties.engineSettings());
	}

	@Bean
	@ConditionalOnMissingBean(LockService.class)
	DefaultLockService lockService(LeaseEngine engine) {
		return new DefaultLockService(engine);
	}

	@Bean
	@ConditionalOnMissingBean(SemaphoreService.class)
	DefaultSemaphoreService semaphoreService(LeaseEngine engine) {
		return new DefaultSemaphoreService(engine);
	}

	@Bean
	@ConditionalOnMissingBean
	LeaseEngineLifecycle holdfastLeaseEngineLifecycle(LeaseEngine engine, Environment environment) {
		Duration phase = DurationStyle
			.detectAndParse(environment.getProperty("spring.lifecycle.timeout-per-shutdown-phase", "30s"));
		// What is left must be released while this phase of the shut-down still lasts.
		return new LeaseEngineLifecycle(engine, phase.multipliedBy(4).dividedBy(5));
	}

}
