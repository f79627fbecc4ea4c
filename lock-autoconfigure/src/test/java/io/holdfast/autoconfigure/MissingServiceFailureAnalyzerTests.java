package io.holdfast.autoconfigure;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.reactive.ReactiveLockService;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.mockito.Mockito;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Messages for an application that does not start because a service is missing.
 */
@ExtendWith(OutputCaptureExtension.class)
class MissingServiceFailureAnalyzerTests {

	private static final String REDIS = "spring-boot-starter-data-redis";

	static Stream<Arguments> missing() {
		String locks = LockService.class.getName();
		String off = "--holdfast.enabled=false";
		return Stream.of(
				missing("without Redis", WithoutRedis.class, NeedsLocks.class, "", "Parameter 0 of constructor in ",
						"required a bean of type", locks, "that could not be found.", "Action:", REDIS, "@Primary",
						"holdfast.backend=memory"),
				missing("in a slice", Slice.class, NeedsLocks.class, "", locks, "Action:", "not part of this context",
						"@WebMvcTest", "@AutoConfigureHoldfast", "@MockitoBean"),
				missing("reactive, in a slice", Slice.class, NeedsReactiveLocks.class, "",
						ReactiveLockService.class.getName(), "Action:", "@AutoConfigureHoldfast"),
				missing("annotated methods alone, at the start", WithoutRedis.class, Shop.class, "",
						"required a bean of type", locks, "Action:", REDIS, "holdfast.backend=memory"),
				missing("several Redis, none primary", SeveralRedis.class, NeedsSemaphores.class, "",
						SemaphoreService.class.getName(), "Action:", REDIS, "of several, mark one as @Primary"),
				missing("switched off", Complete.class, NeedsLocks.class, off, locks, "holdfast.enabled is false",
						"Action:", "ObjectProvider"),
				missing("engine factory, switched off", Complete.class, NeedsFactory.class, off,
						LeaseEngineFactory.class.getName(), "holdfast.enabled is false"),
				missing("another name, explained by Spring Boot", Complete.class, NeedsNamedLocks.class,
						"--holdfast.backend=memory", "No qualifying bean", "ordersLocks"));
	}

	private static Arguments missing(String name, Class<?> application, Class<?> client, String arg,
			String... message) {
		return Arguments.argumentSet(name, application, client, arg, message);
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("The message names the missing bean and the cure; it names Redis only if Redis is missing")
	void missing(Class<?> application, Class<?> client, String arg, String[] message, CapturedOutput output) {
		assertThatException()
			.isThrownBy(() -> new SpringApplicationBuilder(application, client).web(WebApplicationType.NONE).run(arg));
		assertThat(output).containsSubsequence(message);
		assertThat(output.toString().contains(REDIS)).isEqualTo(List.of(message).contains(REDIS));
	}

	@EnableAutoConfiguration
	static class Complete {

	}

	@EnableAutoConfiguration(exclude = DataRedisAutoConfiguration.class)
	static class WithoutRedis {

	}

	@EnableAutoConfiguration(exclude = HoldfastAutoConfiguration.class)
	static class Slice {

	}

	@EnableAutoConfiguration
	static class SeveralRedis {

		@Bean
		RedisConnectionFactory one() {
			return Mockito.mock();
		}

		@Bean
		RedisConnectionFactory two() {
			return Mockito.mock();
		}

	}

	record NeedsLocks(LockService locks) {
	}

	record NeedsNamedLocks(@Qualifier("ordersLocks") LockService locks) {
	}

	record NeedsReactiveLocks(ReactiveLockService locks) {
	}

	record NeedsSemaphores(SemaphoreService semaphores) {
	}

	record NeedsFactory(LeaseEngineFactory engines) {
	}

	static class Shop {

		@DistributedLock(name = "shop")
		public void sell() {
		}

	}

}
