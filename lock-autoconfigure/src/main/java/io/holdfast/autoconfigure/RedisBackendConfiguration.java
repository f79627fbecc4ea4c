package io.holdfast.autoconfigure;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.optimistic.OptimisticTransactions;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Configuration of leases and optimistic transactions in the application's Redis. Its
 * engine gives way to that of {@link MemoryBackendConfiguration}, which comes before.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(RedisConnectionFactory.class)
@Import(JedisEncryption.class)
class RedisBackendConfiguration {

	// Also with the memory backend, so that applications run unchanged with it.
	@Bean
	LeaseEngineFactory holdfastLeaseEngineFactory(HoldfastProperties properties) {
		return new LeaseEngineFactory(properties);
	}

	@Bean
	@ConditionalOnSingleCandidate(RedisConnectionFactory.class)
	@ConditionalOnMissingBean
	LeaseEngine holdfastLeaseEngine(LeaseEngineFactory engines, RedisConnectionFactory connectionFactory,
			ObjectProvider<JedisEncryption> encryption) {
		JedisEncryption known = encryption.getIfAvailable();
		return engines.create((known != null) ? known.applied(connectionFactory) : connectionFactory);
	}

	// Lazy: a connection factory that this bean refuses must not affect applications with
	// locks only.
	@Bean
	@Lazy
	@ConditionalOnSingleCandidate(RedisConnectionFactory.class)
	@ConditionalOnMissingBean
	OptimisticTransactions holdfastOptimisticTransactions(RedisConnectionFactory connectionFactory,
			HoldfastProperties properties) {
		properties.check();
		return new OptimisticTransactions(connectionFactory, properties.optimisticOptions());
	}

}
