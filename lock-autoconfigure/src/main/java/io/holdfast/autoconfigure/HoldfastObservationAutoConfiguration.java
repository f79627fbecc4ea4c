package io.holdfast.autoconfigure;

import io.holdfast.aop.LeaseBeanPostProcessor;
import io.holdfast.aop.MethodObserver;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.observation.LeaseObservations;
import io.holdfast.observation.MethodObservations;
import io.holdfast.observation.LeaseMeters;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * {@link AutoConfiguration Auto-configuration} of observations and meters, if Micrometer
 * is present and has a registry.
 */
@AutoConfiguration(after = { HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class },
		afterName = { "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
				"org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration" })
public final class HoldfastObservationAutoConfiguration {

	@Bean
	@ConditionalOnBean({ LeaseEngine.class, ObservationRegistry.class })
	@ConditionalOnMissingBean
	LeaseObservations holdfastLeaseObservations(ObservationRegistry registry) {
		return new LeaseObservations(registry);
	}

	@Bean
	@ConditionalOnBean({ LeaseBeanPostProcessor.class, ObservationRegistry.class })
	@ConditionalOnMissingBean(MethodObserver.class)
	MethodObservations holdfastMethodObservations(ObservationRegistry registry) {
		return new MethodObservations(registry);
	}

	/**
	 * Configuration of gauges and counters, if Micrometer's meters are present.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MeterRegistry.class)
	static class Meters {

		@Bean
		@ConditionalOnBean({ LeaseEngine.class, MeterRegistry.class })
		@ConditionalOnMissingBean
		LeaseMeters holdfastLeaseMeters(MeterRegistry registry) {
			return new LeaseMeters(registry);
		}

	}

}
