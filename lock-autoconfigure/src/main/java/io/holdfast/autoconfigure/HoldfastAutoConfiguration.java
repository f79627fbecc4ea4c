package io.holdfast.autoconfigure;

import java.time.Duration;

import io.holdfast.LockService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.redis.RedisLeaseStore;

import org.springframework.aop.framework.AopProxyUtils;
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
 * {@link AutoConfiguration Auto-configuration} of a {@link LockService} on the
 * application's Redis.
 */
@AutoConfiguration(afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnClass(RedisConnectionFactory.class)
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnSingleCandidate(RedisConnectionFactory.class)
@ConditionalOnMissingBean(LockService.class)
@EnableConfigurationProperties(HoldfastProperties.class)
public final class HoldfastAutoConfiguration {

	@Bean
	DefaultLockService lockService(RedisConnectionFactory connectionFactory, HoldfastProperties properties) {
		properties.check();
		// A template of our own: what the application does with its own must not matter.
		RedisLeaseStore store = new RedisLeaseStore(new StringRedisTemplate(connectionFactory),
				properties.storeOptions());
		return new DefaultLockService(store, properties.engineSettings());
	}

	@Bean
	LockServiceLifecycle lockServiceLifecycle(LockService lockService, Environment environment) {
		Duration phase = DurationStyle
			.detectAndParse(environment.getProperty("spring.lifecycle.timeout-per-shutdown-phase", "30s"));
		// What is left must be released while this phase of the shut-down still lasts.
		// A mock in a test, or what a post-processor made of it, is left alone.
		Object target = AopProxyUtils.getSingletonTarget(lockService);
		LockService service = (target instanceof DefaultLockService unwrapped) ? unwrapped : lockService;
		return new LockServiceLifecycle(service, phase.multipliedBy(4).dividedBy(5));
	}

}
