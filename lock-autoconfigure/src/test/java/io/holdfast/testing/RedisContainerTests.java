package io.holdfast.testing;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.GenericContainer;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.testcontainers.lifecycle.TestcontainersLifecycleApplicationContextInitializer;
import org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

class RedisContainerTests {

	@Test
	@DisplayName("An application context that imports the container connects to it by its service connection")
	void serviceConnection() {
		assumeTrue(SharedRedis.get().way() == SharedRedis.Way.DOCKER, "The tests' Redis does not run in Docker");
		new ApplicationContextRunner().withInitializer(new TestcontainersLifecycleApplicationContextInitializer())
			.withUserConfiguration(RedisContainerConfiguration.class)
			.withConfiguration(
					AutoConfigurations.of(ServiceConnectionAutoConfiguration.class, DataRedisAutoConfiguration.class))
			.run((context) -> {
				assertThat(context).hasNotFailed();
				GenericContainer<?> container = context.getBean(GenericContainer.class);
				assertThat(context.getBean(LettuceConnectionFactory.class).getPort())
					.isEqualTo(container.getMappedPort(6379));
				StringRedisTemplate template = context.getBean(StringRedisTemplate.class);
				template.opsForValue().set("k", "v");
				assertThat(template.opsForValue().get("k")).isEqualTo("v");
			});
	}

}
