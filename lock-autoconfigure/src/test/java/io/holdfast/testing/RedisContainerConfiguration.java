package io.holdfast.testing;

import org.testcontainers.containers.GenericContainer;

import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.context.annotation.Bean;

/** Redis in Docker, for application contexts that import this configuration. */
@TestConfiguration(proxyBeanMethods = false)
public class RedisContainerConfiguration {

	static final String IMAGE = "redis:7.0.15";

	@Bean
	@ServiceConnection(name = "redis")
	GenericContainer<?> redisContainer() {
		return new GenericContainer<>(IMAGE).withExposedPorts(6379);
	}

}
