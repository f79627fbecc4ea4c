package io.holdfast.autoconfigure;

import io.holdfast.LockService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.LeaseEngine;
import org.mockito.Mockito;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Second engine of an application that keeps its leases in memory, with its service.
 */
@Configuration(proxyBeanMethods = false)
class AnotherEngine {

	@Bean(defaultCandidate = false)
	LeaseEngine secondEngine(LeaseEngineFactory engines) {
		return engines.create(Mockito.mock());
	}

	@Bean(defaultCandidate = false)
	LockService secondLocks(@Qualifier("secondEngine") LeaseEngine engine) {
		return new DefaultLockService(engine);
	}

}
