package io.holdfast.autoconfigure;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * {@link AutoConfiguration Auto-configuration} of the services for reactive chains, if
 * Reactor is present.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass(Mono.class)
public final class HoldfastReactiveAutoConfiguration {

	@Bean
	@ConditionalOnSingleCandidate(LockService.class)
	@ConditionalOnMissingBean
	ReactiveLockService holdfastReactiveLockService(LockService locks) {
		return new ReactiveLockService(locks);
	}

	@Bean
	@ConditionalOnSingleCandidate(SemaphoreService.class)
	@ConditionalOnMissingBean
	ReactiveSemaphoreService holdfastReactiveSemaphoreService(SemaphoreService semaphores) {
		return new ReactiveSemaphoreService(semaphores);
	}

}
