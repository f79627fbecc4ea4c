package io.holdfast.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.KeyNamespace;
import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Namespace and observers in engines and services.
 */
class LeaseEngineConfigurerTests {

	@Test
	@DisplayName("A service that a post-processor of the application needs has the usual namespace and observers")
	void neededByPostProcessor() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
			.withPropertyValues("holdfast.backend=memory")
			.withUserConfiguration(Application.class)
			.run((context) -> {
				try (LockLease lease = context.getBean(LockService.class).acquire("a")) {
					assertThat(lease.key()).isEqualTo("tenant:a");
				}
				assertThat(context.getBean(Observer.class).observed).isEqualTo(1);
				// Observers may need the services: meters do.
				assertThat(context.getBean(LocksInPostProcessor.class).processed).contains("observer");
			});
	}

	@Configuration(proxyBeanMethods = false)
	static class Application {

		@Bean
		static LocksInPostProcessor processor(LockService locks) {
			return new LocksInPostProcessor();
		}

		@Bean
		static KeyNamespace namespace() {
			return () -> "tenant";
		}

		@Bean
		static Observer observer() {
			return new Observer();
		}

	}

	static class LocksInPostProcessor implements BeanPostProcessor {

		private final List<String> processed = new ArrayList<>();

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			this.processed.add(beanName);
			return bean;
		}

	}

	static class Observer implements EngineObserver {

		private int observed;

		@Override
		public @Nullable RequestObserver requested(ObservedRequest request) {
			this.observed++;
			return null;
		}

	}

}
