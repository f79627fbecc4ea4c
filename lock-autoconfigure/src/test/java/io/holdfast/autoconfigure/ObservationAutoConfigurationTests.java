package io.holdfast.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.observation.DefaultLeaseObservationConvention;
import io.holdfast.observation.DefaultMethodObservationConvention;
import io.holdfast.observation.HoldfastObservationDocumentation;
import io.holdfast.observation.LeaseMeters;
import io.holdfast.observation.LeaseObservationConvention;
import io.holdfast.observation.LeaseObservations;
import io.holdfast.observation.MethodObservationConvention;
import io.holdfast.testing.TestApplication;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Observation of an application's locks with Micrometer.
 */
class ObservationAutoConfigurationTests {

	private final ApplicationContextRunner plain = TestApplication.runner(HoldfastObservationAutoConfiguration.class);

	private final ApplicationContextRunner runner = this.plain.withUserConfiguration(Registries.class);

	private static void use(LockService locks) {
		locks.acquire("a").release();
	}

	@Test
	@DisplayName("Timers, gauges and counters are in the application's registry")
	void metersInRegistry() {
		this.runner.run((context) -> {
			use(context.getBean(LockService.class));
			context.getBean(SemaphoreService.class).acquire(SemaphoreRequest.of("a", 1)).release();
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			for (String kind : List.of("lock", "semaphore")) {
				assertThat(registry.get("holdfast." + kind + ".acquire").tag("outcome", "granted").timer().count())
					.isEqualTo(1);
				assertThat(registry.get("holdfast." + kind + ".hold").tag("outcome", "released").timer().count())
					.isEqualTo(1);
				assertThat(registry.get("holdfast." + kind + ".held").gauge().value()).isZero();
				assertThat(registry.get("holdfast." + kind + ".renewal").counters()).hasSize(3);
			}
		});
	}

	@Test
	@DisplayName("Without Micrometer, or without registries, locks work")
	void withoutMicrometer() {
		this.plain.withClassLoader(new FilteredClassLoader("io.micrometer"))
			.run((context) -> use(context.getBean(LockService.class)));
		this.plain.run((context) -> {
			assertThat(context).doesNotHaveBean(EngineObserver.class);
			use(context.getBean(LockService.class));
		});
	}

	@Test
	@DisplayName("Without Micrometer's meters, there are observations")
	void withoutMeters() {
		this.plain.withBean(ObservationRegistry.class, ObservationRegistry::create)
			.withClassLoader(new FilteredClassLoader("io.micrometer.core"))
			.run((context) -> {
				assertThat(context).hasSingleBean(LeaseObservations.class).doesNotHaveBean("holdfastLeaseMeters");
				use(context.getBean(LockService.class));
			});
	}

	@Test
	@DisplayName("Without locks there are no meters")
	void withoutEngine() {
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(EngineObserver.class));
	}

	@Test
	@DisplayName("All engines are observed, by the application's observers too, and each observer is called once")
	void severalEngines() {
		this.runner.withUserConfiguration(AnotherEngine.class, Noting.class).run((context) -> {
			use(context.getBean(LockService.class));
			use(context.getBean("secondLocks", LockService.class));
			assertThat(context.getBean(MeterRegistry.class).get("holdfast.lock.acquire").timer().count()).isEqualTo(2);
			assertThat(context.getBean(Noting.class).engines).containsExactly(
					context.getBean("holdfastLeaseEngine", LeaseEngine.class),
					context.getBean("secondEngine", LeaseEngine.class));
		});
	}

	@Test
	@DisplayName("In a hierarchy of contexts, each request is counted once")
	void child() {
		this.runner.withBean(Noting.class).run((parent) -> {
			use(parent.getBean(LockService.class));
			this.plain.withParent(parent).withUserConfiguration(AnotherEngine.class).run((child) -> {
				use(child.getBean("secondLocks", LockService.class));
				assertThat(parent.getBean(MeterRegistry.class).get("holdfast.lock.acquire").timer().count())
					.isEqualTo(2);
				assertThat(parent.getBean(Noting.class).engines).hasSize(2);
			});
		});
	}

	@Test
	@DisplayName("An application's convention and meters take precedence")
	void own() {
		LeaseObservationConvention convention = new DefaultLeaseObservationConvention(
				HoldfastObservationDocumentation.LOCK_HOLD) {

			@Override
			public String getName() {
				return "my.lock.hold";
			}

		};
		ApplicationContextRunner own = this.runner.withBean(LeaseObservationConvention.class, () -> convention)
			.withBean("ownMeters", LeaseMeters.class, () -> new LeaseMeters(new SimpleMeterRegistry()));
		own.run((context) -> {
			use(context.getBean(LockService.class));
			assertThat(context.getBean(MeterRegistry.class).get("my.lock.hold").timer().count()).isEqualTo(1);
			assertThat(context.getBean(MeterRegistry.class).find("holdfast.lock.hold").timers()).isEmpty();
			assertThat(context).hasSingleBean(LeaseMeters.class).hasBean("ownMeters");
		});
	}

	@Test
	@DisplayName("The first of several conventions is used, for methods and for leases")
	void severalConventions() {
		this.runner.withBean("second", MethodObservationConvention.class, DefaultMethodObservationConvention::new)
			.withBean("first", MethodObservationConvention.class, DefaultMethodObservationConvention::new)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	/** Registries as in a Spring Boot application with Actuator. */
	@Configuration(proxyBeanMethods = false)
	static class Registries {

		@Bean
		MeterRegistry meters() {
			return new SimpleMeterRegistry();
		}

		@Bean
		ObservationRegistry observations(MeterRegistry meters,
				ObjectProvider<GlobalObservationConvention<?>> conventions) {
			ObservationRegistry registry = ObservationRegistry.create();
			conventions.orderedStream().forEach(registry.observationConfig()::observationConvention);
			registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
			return registry;
		}

	}

	static final class Noting implements EngineObserver {

		private final List<LeaseEngine> engines = new ArrayList<>();

		@Override
		public @Nullable RequestObserver requested(ObservedRequest request) {
			this.engines.add(request.engine());
			return null;
		}

	}

}
