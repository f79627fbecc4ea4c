package io.holdfast.autoconfigure;

import java.time.Duration;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.testing.RedisTestCase;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.ArgumentCaptor;
import org.mockito.Mockito;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;

/**
 * The semaphore service of an application, and its properties.
 */
class SemaphoreAutoConfigurationTests extends RedisTestCase {

	private ApplicationContextRunner runner = new ApplicationContextRunner();

	@BeforeEach
	void connect() {
		this.runner = new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class, HoldfastAutoConfiguration.class,
					HoldfastAopAutoConfiguration.class))
			.withPropertyValues("spring.data.redis.host=" + this.redis.host(),
					"spring.data.redis.port=" + this.redis.port(), "holdfast.lock.key-prefix=" + this.redis.keyPrefix(),
					"holdfast.semaphore.key-prefix=" + this.redis.keyPrefix() + "semaphore:");
	}

	@Test
	@DisplayName("An application's own semaphore service comes before it, and annotated methods ask that one")
	void backsOffFromTheUsersService() {
		this.runner.withUserConfiguration(OwnService.class, Client.class).run((context) -> {
			assertThat(context).hasSingleBean(SemaphoreService.class)
				.doesNotHaveBean(DefaultSemaphoreService.class)
				.hasSingleBean(LockService.class);
			assertThat(context.getBean(Client.class).call()).isEqualTo("called");
			ArgumentCaptor<SemaphoreRequest> request = ArgumentCaptor.captor();
			Mockito.verify(context.getBean(SemaphoreService.class)).acquire(request.capture());
			assertThat(request.getValue()).isEqualTo(SemaphoreRequest.of("client", 7).name("client"));
		});
	}

	@Test
	@DisplayName("A child context has the engine and services of its parent, and its beans take their permits there")
	void childContext() {
		this.runner.withUserConfiguration(OwnService.class).run((parent) -> {
			this.runner.withParent(parent).withUserConfiguration(Client.class).run((child) -> {
				assertThat(child.getBeanNamesForType(LeaseEngine.class)).isEmpty();
				assertThat(child.getBeanNamesForType(SemaphoreService.class)).isEmpty();
				assertThat(child.getBean(LeaseEngine.class)).isSameAs(parent.getBean(LeaseEngine.class));
				child.getBean(Client.class).call();
				Mockito.verify(parent.getBean(SemaphoreService.class)).acquire(any(SemaphoreRequest.class));
			});
			// The child's end is not the engine's.
			try (LockLease lease = parent.getBean(LockService.class).acquire("a")) {
				assertThat(lease.isHeld()).isTrue();
			}
		});
	}

	@Test
	@DisplayName("Without Spring Data Redis, or switched off, there is no service")
	void noService() {
		new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class))
			.withClassLoader(new FilteredClassLoader(RedisConnectionFactory.class))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(SemaphoreService.class));
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(SemaphoreService.class));
	}

	@Test
	@DisplayName("What is configured is the engine's and the store's")
	void properties() {
		this.runner
			.withPropertyValues("holdfast.semaphore.key-prefix=permits:", "holdfast.semaphore.wait-time=3s",
					"holdfast.semaphore.lease-time=20s", "holdfast.semaphore.fair=false")
			.run((context) -> {
				HoldfastProperties properties = context.getBean(HoldfastProperties.class);
				EngineSettings settings = properties.engineSettings();
				assertThat(settings.semaphoreWaitTime()).isEqualTo(Duration.ofSeconds(3));
				assertThat(settings.semaphoreLeaseTime()).isEqualTo(Duration.ofSeconds(20));
				assertThat(settings.semaphoreFair()).isFalse();
				RedisStoreOptions options = properties.storeOptions();
				assertThat(options.semaphorePrefix()).isEqualTo("permits:");
			});
	}

	@ParameterizedTest
	@ValueSource(strings = { "0", "-1", "365d" })
	void allowsWaits(String waitTime) {
		this.runner.withPropertyValues("holdfast.semaphore.wait-time=" + waitTime)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Configuration(proxyBeanMethods = false)
	static class OwnService {

		@Bean
		SemaphoreService own() {
			SemaphoreService own = Mockito.mock();
			PermitLease lease = Mockito.mock();
			given(own.acquire(any(SemaphoreRequest.class))).willReturn(lease);
			return own;
		}

	}

	static class Client {

		@Semaphore(name = "client", limitString = "${client.limit:7}")
		public String call() {
			return "called";
		}

	}

}
