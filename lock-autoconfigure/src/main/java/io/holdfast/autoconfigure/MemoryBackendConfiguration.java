package io.holdfast.autoconfigure;

import java.util.Locale;

import io.holdfast.autoconfigure.HoldfastProperties.Backend;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;

import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Configuration of leases in the memory of this JVM. Each context has its own leases,
 * unless the application defines shared {@link MemoryLeases}.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty(name = "holdfast.backend", havingValue = "memory")
class MemoryBackendConfiguration {

	@Bean
	@ConditionalOnMissingBean
	MemoryLeases holdfastMemoryLeases(HoldfastProperties properties) {
		return properties.newMemory();
	}

	@Bean
	@ConditionalOnMissingBean
	LeaseEngine holdfastLeaseEngine(MemoryLeases leases, HoldfastProperties properties) {
		// Without this check, locks would silently not exclude other processes.
		PropertyBounds.check(properties.backend() == Backend.MEMORY, "backend",
				properties.backend().name().toLowerCase(Locale.ROOT),
				"the application was processed ahead of time with memory: build it with the backend that it runs with");
		return new LeaseEngine(new MemoryLeaseStore(leases), properties.engineSettings());
	}

}
