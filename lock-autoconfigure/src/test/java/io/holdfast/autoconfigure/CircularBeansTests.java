package io.holdfast.autoconfigure;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.KeyNamespace;
import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.MethodObserver;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.observation.LeaseObservationConvention;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.TestApplication;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Beans that Holdfast looks up and that need its services themselves.
 */
class CircularBeansTests {

	private final ApplicationContextRunner runner = TestApplication
		.runner(HoldfastReactiveAutoConfiguration.class, HoldfastObservationAutoConfiguration.class)
		.withAllowCircularReferences(false);

	@ParameterizedTest
	@ValueSource(classes = { Namespace.class, IndirectNamespace.class })
	@DisplayName("A namespace applies to services and annotated methods")
	void namespace(Class<?> configuration) {
		this.runner.withUserConfiguration(configuration, Shop.class).run((context) -> {
			try (LockLease lock = context.getBean(LockService.class).acquire("a");
					PermitLease permit = context.getBean(SemaphoreService.class).acquire(SemaphoreRequest.of("a", 1))) {
				assertThat(lock.key()).isEqualTo("tenant:a");
				assertThat(permit.key()).isEqualTo("tenant:a");
			}
			assertThat(context.getBean(Shop.class).locked()).isEqualTo("tenant:shop");
			assertThat(context.getBean(Shop.class).limited()).isEqualTo("tenant:shop");
			assertThat(context.getBean(ReactiveLockService.class)).isNotNull();
		});
	}

	@Test
	@DisplayName("An observer that needs the services gets all requests after the start")
	void observer() {
		this.runner.withUserConfiguration(Observer.class, Shop.class).run((context) -> {
			assertThat(context.getBean(Shop.class).locked()).isEqualTo("shop");
			assertThat(context.getBean(CountingObserver.class).began).hasValue(1);
		});
	}

	@Test
	@DisplayName("An observer without the services gets the requests of the start as well")
	void earlyRequests() {
		this.runner.withUserConfiguration(Plain.class, Early.class)
			.run((context) -> assertThat(context.getBean(CountingObserver.class).began).hasValue(1));
	}

	@Test
	@DisplayName("An observer of a lazy application gets the requests after its creation")
	void lazyObserver() {
		this.runner
			.withInitializer(
					(context) -> context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
			.withUserConfiguration(Observer.class, Shop.class)
			.run((context) -> {
				context.getBean(Shop.class).locked();
				int before = context.getBean(CountingObserver.class).began.get();
				context.getBean(Shop.class).locked();
				assertThat(context.getBean(CountingObserver.class).began).hasValue(before + 1);
			});
	}

	@Test
	@DisplayName("Other such beans are looked up at their first use")
	void others() {
		this.runner.withBean(ObservationRegistry.class, ObservationRegistry::create)
			.withUserConfiguration(Others.class, Shop.class)
			.run((context) -> {
				assertThat(context.getBean(Shop.class).locked()).isEqualTo("shop");
				try (LockLease lock = context.getBean(LockService.class).acquire("busy")) {
					assertThat(CompletableFuture.supplyAsync(context.getBean(Busy.class)::busy).join())
						.isEqualTo("instead");
					assertThat(lock.isHeld()).isTrue();
				}
				assertThat(context.getBean(CountingMethods.class).started).hasValue(2);
			});
	}

	@Test
	@DisplayName("A service that a post-processor of the application needs has the usual namespace and observers")
	void neededByPostProcessor() {
		this.runner.withUserConfiguration(PostProcessed.class, Plain.class).run((context) -> {
			try (LockLease lease = context.getBean(LockService.class).acquire("a")) {
				assertThat(lease.key()).isEqualTo("tenant:a");
			}
			assertThat(context.getBean(CountingObserver.class).began).hasValue(1);
			// Observers may need the services: meters do.
			assertThat(context.getBean(LocksInPostProcessor.class).processed).contains("observer");
		});
	}

	static class Shop {

		@DistributedLock(name = "shop")
		public String locked() {
			return LockLease.current().key();
		}

		@Semaphore(name = "shop", limit = 1)
		public String limited() {
			return PermitLease.current().key();
		}

	}

	static class Busy {

		@DistributedLock(name = "busy", waitTime = "0")
		public String busy() {
			return "ran";
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Namespace {

		@Bean
		KeyNamespace namespace(LockService locks) {
			return () -> "tenant";
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class IndirectNamespace {

		@Bean
		Tenants tenants(LockService locks) {
			return new Tenants();
		}

		@Bean
		KeyNamespace namespace(Tenants tenants) {
			return tenants::current;
		}

	}

	static class Tenants {

		@DistributedLock(condition = "false")
		public String current() {
			return "tenant";
		}

	}

	static class CountingObserver implements EngineObserver {

		private final AtomicInteger began = new AtomicInteger();

		@Override
		public @Nullable RequestObserver requested(ObservedRequest request) {
			this.began.incrementAndGet();
			return null;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Plain {

		@Bean
		CountingObserver observer() {
			return new CountingObserver();
		}

	}

	static class Early {

		Early(LockService locks) {
			locks.acquire("early").close();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Observer {

		@Bean
		CountingObserver observer(LockService locks) {
			return new CountingObserver();
		}

	}

	static class CountingMethods implements MethodObserver {

		private final AtomicInteger started = new AtomicInteger();

		@Override
		public Observation start(Method method, Class<?> targetClass, @Nullable Observation parent) {
			this.started.incrementAndGet();
			return Observation.NOOP;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Others {

		@Bean
		Busy busy() {
			return new Busy();
		}

		@Bean
		NotAcquiredStrategy strategy(LockService locks, SemaphoreService semaphores) {
			return (method, ex) -> "instead";
		}

		@Bean
		CountingMethods methods(LockService locks, SemaphoreService semaphores) {
			return new CountingMethods();
		}

		@Bean
		LeaseObservationConvention convention(LockService locks, SemaphoreService semaphores) {
			return new LeaseObservationConvention() {
			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PostProcessed {

		@Bean
		static LocksInPostProcessor processor(LockService locks) {
			return new LocksInPostProcessor();
		}

		@Bean
		static KeyNamespace namespace() {
			return () -> "tenant";
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

}
