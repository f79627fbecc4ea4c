package io.holdfast.autoconfigure;

import java.util.List;

import io.holdfast.LockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.ChildProcess;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Applications with another driver than Lettuce.
 */
class RedisDriverTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class, HoldfastAutoConfiguration.class))
		.withPropertyValues("spring.data.redis.host=127.0.0.1", "spring.data.redis.port=1")
		.withBean(RedisConnectionFactory.class, () -> Mockito.mock(RedisConnectionFactory.class));

	@Test
	@DisplayName("A connection factory of unknown address has cures: an engine on another factory, or memory")
	void cure() {
		this.runner.withUserConfiguration(Cure.class)
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(LockService.class));
		this.runner.withPropertyValues("holdfast.backend=memory")
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(LockService.class));
	}

	@Test
	@DisplayName("Optimistic transactions have a cure: their own factory")
	void optimistic() {
		ApplicationContextRunner memory = this.runner.withPropertyValues("holdfast.backend=memory")
			.withUserConfiguration(Shop.class);
		memory.withUserConfiguration(OptimisticCure.class)
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(OptimisticTransactions.class));
	}

	@Test
	@DisplayName("Without Lettuce on the class path the start fails, and the message names the dependency")
	void withoutLettuce() {
		try (ChildJvm child = ChildJvm.startWithout(List.of("lettuce"), JedisApplication.class)) {
			child.awaitLine("told: Lettuce is missing", ChildProcess.PATIENCE);
			assertThat(child.awaitExit(ChildProcess.PATIENCE)).isZero();
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Cure {

		@Bean
		LeaseEngine leaseEngine(LeaseEngineFactory engines, DataRedisProperties redis) {
			RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(redis.getHost(), redis.getPort());
			server.setUsername(redis.getUsername());
			server.setPassword(redis.getPassword());
			return engines.create(new LettuceConnectionFactory(server));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Shop {

		Shop(OptimisticTransactions transactions) {
			assertThat(transactions).isNotNull();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OptimisticCure {

		@Bean(defaultCandidate = false)
		LettuceConnectionFactory lettuce() {
			return new LettuceConnectionFactory("127.0.0.1", 1);
		}

		@Bean
		OptimisticTransactions transactions(@Qualifier("lettuce") RedisConnectionFactory lettuce) {
			return new OptimisticTransactions(lettuce);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class JedisApplication {

		public static void main(String[] args) {
			try {
				new SpringApplicationBuilder(JedisApplication.class).web(WebApplicationType.NONE).run().close();
			}
			catch (RuntimeException ex) {
				System.out.println("told: " + NestedExceptionUtils.getMostSpecificCause(ex).getMessage());
			}
		}

	}

}
