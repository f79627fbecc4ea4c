package io.holdfast.test;

import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

import io.holdfast.autoconfigure.HoldfastAutoConfiguration;
import io.holdfast.autoconfigure.HoldfastProperties;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/**
 * {@link AutoConfiguration Auto-configuration} of an engine in memory with a
 * {@link HoldfastClock}, in place of the engine without such a clock.
 */
@AutoConfiguration(before = HoldfastAutoConfiguration.class)
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnProperty(name = "holdfast.backend", havingValue = "memory")
@ConditionalOnMissingBean({ LeaseEngine.class, MemoryLeases.class })
class HoldfastTestAutoConfiguration {

	@Bean(destroyMethod = "close")
	HoldfastClock holdfastClock(ConfigurableListableBeanFactory beans) {
		return new HoldfastClock(beans.getBeanClassLoader());
	}

	@Bean
	MemoryLeases holdfastMemoryLeases(HoldfastClock clock, HoldfastProperties properties) {
		return new MemoryLeases(clock.scheduler()::nanoTime, properties.wakeUp().handoffTimeout());
	}

	@Bean
	LeaseEngine holdfastLeaseEngine(HoldfastClock clock, MemoryLeases leases, HoldfastProperties properties) {
		LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(leases), properties.engineSettings(),
				clock.scheduler(), clock.callbacks(), () -> UUID.randomUUID().toString().replace("-", ""),
				() -> ThreadLocalRandom.current().nextDouble());
		clock.waitFor(engine::afterEvents);
		return engine;
	}

}
