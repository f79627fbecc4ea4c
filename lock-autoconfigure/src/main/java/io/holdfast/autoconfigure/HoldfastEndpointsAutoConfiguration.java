package io.holdfast.autoconfigure;

import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.engine.LeaseEngine;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * {@link AutoConfiguration Auto-configuration} of the endpoints {@code locks} and
 * {@code semaphores}, for the engine that would be injected.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({ Endpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnSingleCandidate(LeaseEngine.class)
public final class HoldfastEndpointsAutoConfiguration {

	@Bean
	@ConditionalOnAvailableEndpoint
	@ConditionalOnMissingBean
	LocksEndpoint holdfastLocksEndpoint(LeaseEngine engine) {
		return new LocksEndpoint(engine);
	}

	@Bean
	@ConditionalOnAvailableEndpoint
	@ConditionalOnMissingBean
	SemaphoresEndpoint holdfastSemaphoresEndpoint(LeaseEngine engine) {
		return new SemaphoresEndpoint(engine);
	}

}
