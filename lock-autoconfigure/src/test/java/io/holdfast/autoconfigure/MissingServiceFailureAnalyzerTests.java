package io.holdfast.autoconfigure;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.reactive.ReactiveLockService;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
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

	private final CapturedOutput output;

	MissingServiceFailureAnalyzerTests(CapturedOutput output) {
		this.output = output;
	}

	private void failToStart(Class<?> application, Class<?> client, String... args) {
		assertThatException()
			.isThrownBy(() -> new SpringApplicationBuilder(application, client).web(WebApplicationType.NONE).run(args));
	}

	@Test
	@DisplayName("Without Redis the message names Redis and the memory backend")
	void withoutRedis() {
		failToStart(WithoutRedis.class, NeedsLocks.class);
		assertThat(this.output)
			.containsSubsequence("Parameter 0 of constructor in ", "required a bean of type",
					LockService.class.getName(), "that could not be found.")
			.containsSubsequence("Action:", "spring-boot-starter-data-redis", "@Primary", "holdfast.backend=memory");
	}

	@Test
	@DisplayName("In a slice without Holdfast the message names the slice, and not Redis")
	void slice() {
		failToStart(Slice.class, NeedsLocks.class);
		assertThat(this.output)
			.containsSubsequence(LockService.class.getName(), "Action:", "not part of this context", "@WebMvcTest",
					"@AutoConfigureHoldfast", "@MockitoBean")
			.doesNotContain("spring-boot-starter-data-redis");
	}

	@Test
	@DisplayName("A missing reactive service has the same message")
	void reactiveInSlice() {
		failToStart(Slice.class, NeedsReactiveLocks.class);
		assertThat(this.output).containsSubsequence(ReactiveLockService.class.getName(), "Action:",
				"@AutoConfigureHoldfast");
	}

	@Test
	@DisplayName("Annotated methods alone have the same message, at the start")
	void annotated() {
		failToStart(WithoutRedis.class, Shop.class);
		assertThat(this.output).containsSubsequence("required a bean of type", LockService.class.getName(), "Action:",
				"spring-boot-starter-data-redis", "holdfast.backend=memory");
	}

	@Test
	@DisplayName("With several Redis and no primary one the message says so")
	void severalRedis() {
		failToStart(SeveralRedis.class, NeedsSemaphores.class);
		assertThat(this.output).contains(SemaphoreService.class.getName())
			.containsSubsequence("Action:", "of several, mark one as @Primary");
	}

	@Test
	@DisplayName("If Holdfast is switched off the message names the property")
	void switchedOff() {
		failToStart(Complete.class, NeedsLocks.class, "--holdfast.enabled=false");
		assertThat(this.output).containsSubsequence(LockService.class.getName(), "holdfast.enabled is false", "Action:",
				"ObjectProvider");
	}

	@Test
	@DisplayName("If Holdfast is switched off the message for a missing engine factory names the property, too")
	void factoryWhenSwitchedOff() {
		failToStart(Complete.class, NeedsFactory.class, "--holdfast.enabled=false");
		assertThat(this.output).containsSubsequence(LeaseEngineFactory.class.getName(), "holdfast.enabled is false");
	}

	@Test
	@DisplayName("A service under another name is left to Spring Boot to explain")
	void wrongName() {
		failToStart(Complete.class, NeedsNamedLocks.class, "--holdfast.backend=memory");
		assertThat(this.output).contains("ordersLocks")
			.contains("No qualifying bean")
			.doesNotContain("spring-boot-starter-data-redis");
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
