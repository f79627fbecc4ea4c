package io.holdfast.autoconfigure;

import java.util.stream.Stream;

import io.holdfast.SemaphoreService;
import io.holdfast.aop.LeaseBeanPostProcessor;
import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Names of Holdfast's beans, which leave the usual names to the application.
 */
class BeanNameTests {

	private final ApplicationContextRunner runner = TestApplication.runner(HoldfastReactiveAutoConfiguration.class)
		.withBean(LettuceConnectionFactory.class);

	@Test
	@DisplayName("An application may have other beans, of any type, under the names of the services")
	void namesOfTheApplication() {
		this.runner.withUserConfiguration(Application.class).run((context) -> {
			assertThat(context).hasNotFailed()
				.hasSingleBean(LockService.class)
				.hasSingleBean(io.holdfast.LockService.class)
				.hasSingleBean(SemaphoreService.class)
				.hasSingleBean(ReactiveLockService.class)
				.hasSingleBean(ReactiveSemaphoreService.class)
				.hasSingleBean(OptimisticTransactions.class)
				.hasSingleBean(LeaseBeanPostProcessor.class);
			assertThat(context.getBean(LockService.class).locks)
				.isSameAs(context.getBean(io.holdfast.LockService.class));
			assertThat(context.getBean("optimisticTransactions")).isEqualTo("an optimist");
		});
	}

	@Test
	@DisplayName("The names of all beans of Holdfast begin with holdfast")
	void namesOfHoldfast() {
		this.runner.run((context) -> {
			ConfigurableListableBeanFactory beans = context.getBeanFactory();
			assertThat(Stream.of(beans.getBeanDefinitionNames())
				.filter((name) -> beans.getBeanDefinition(name).getFactoryMethodName() != null)
				.filter((name) -> String.valueOf(beans.getType(name, false)).contains(" io.holdfast.")))
				.hasSizeGreaterThan(8)
				.allSatisfy((name) -> assertThat(name).startsWith("holdfast"));
		});
	}

	/** Class of the application with the simple name of a type of Holdfast. */
	static class LockService {

		final io.holdfast.LockService locks;

		LockService(io.holdfast.LockService locks) {
			this.locks = locks;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Application {

		@Bean
		LockService lockService(io.holdfast.LockService locks) {
			return new LockService(locks);
		}

		@Bean
		String semaphoreService() {
			return "semaphores at a railway";
		}

		@Bean
		String reactiveLockService() {
			return "a locksmith who comes at once";
		}

		@Bean
		String reactiveSemaphoreService() {
			return "semaphores with motors";
		}

		@Bean
		String optimisticTransactions(RedisConnectionFactory connectionFactory) {
			return "an optimist";
		}

		@Bean
		String leaseBeanPostProcessor() {
			return "beans for rent";
		}

	}

}
