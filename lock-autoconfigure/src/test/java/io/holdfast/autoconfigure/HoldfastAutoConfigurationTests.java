package io.holdfast.autoconfigure;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;

@WithRedis
class HoldfastAutoConfigurationTests {

	private ApplicationContextRunner runner = new ApplicationContextRunner();

	private final TestRedis redis;

	HoldfastAutoConfigurationTests(TestRedis redis) {
		this.redis = redis;
	}

	@BeforeEach
	void connect() {
		this.runner = new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class, HoldfastAutoConfiguration.class,
					HoldfastAopAutoConfiguration.class))
			.withPropertyValues("spring.data.redis.host=" + this.redis.host(),
					"spring.data.redis.port=" + this.redis.port(),
					"holdfast.lock.key-prefix=" + this.redis.keyPrefix());
	}

	@Test
	void givesAServiceThatLocksInRedis() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			try (LockLease lease = locks.acquire("a")) {
				assertThat(lease.isHeld()).isTrue();
				assertThat(this.redis.template().hasKey(this.redis.keyPrefix() + "a")).isTrue();
			}
			assertThat(this.redis.template().hasKey(this.redis.keyPrefix() + "a")).isFalse();
		});
	}

	@Test
	void backsOffFromTheUsersLockService() {
		this.runner.withUserConfiguration(OwnLockService.class)
			.run((context) -> assertThat(context).hasSingleBean(LockService.class)
				.doesNotHaveBean(DefaultLockService.class)
				.doesNotHaveBean(LockServiceLifecycle.class));
	}

	@Test
	void needsSpringDataRedis() {
		new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class))
			.withClassLoader(new FilteredClassLoader(RedisConnectionFactory.class))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LockService.class));
	}

	@Test
	void isSwitchedOffByProperty() {
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).doesNotHaveBean(LockService.class));
	}

	@Test
	void addsNoTemplateOrExecutorOfItsOwn() {
		this.runner.run((context) -> {
			assertThat(context.getBeanNamesForType(StringRedisTemplate.class)).containsExactly("stringRedisTemplate");
			assertThat(context.getBeanNamesForType(java.util.concurrent.Executor.class)).isEmpty();
		});
	}

	@Test
	void refusesABadValueWithItsName() {
		this.runner.withPropertyValues("holdfast.lock.lease-time=5ms")
			.run((context) -> assertThat(context.getStartupFailure()).rootCause()
				.hasMessageContaining("holdfast.lock.lease-time")
				.hasMessageContaining("5"));
	}

	@Configuration(proxyBeanMethods = false)
	static class OwnLockService {

		@Bean
		LockService own() {
			return Mockito.mock(LockService.class);
		}

	}

}
