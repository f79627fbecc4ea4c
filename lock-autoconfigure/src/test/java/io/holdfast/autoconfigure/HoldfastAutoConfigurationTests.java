package io.holdfast.autoconfigure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import com.jayway.jsonpath.JsonPath;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;

class HoldfastAutoConfigurationTests extends RedisTestCase {

	private ApplicationContextRunner runner = new ApplicationContextRunner();

	@BeforeEach
	void connect() {
		this.runner = TestApplication.runner(this.redis);
	}

	@Test
	void backsOffFromTheUsersServices() {
		this.runner.withBean("own", LockService.class, () -> Mockito.mock(LockService.class))
			.withBean("ownSemaphores", SemaphoreService.class, () -> Mockito.mock(SemaphoreService.class))
			.run((context) -> assertThat(context).hasSingleBean(LockService.class)
				.hasSingleBean(SemaphoreService.class)
				.doesNotHaveBean(DefaultLockService.class)
				.doesNotHaveBean(DefaultSemaphoreService.class));
	}

	@Test
	void letsTheServiceBeAdvised() {
		this.runner.withConfiguration(AutoConfigurations.of(AopAutoConfiguration.class))
			.withUserConfiguration(Timing.class)
			.run((context) -> {
				context.getBean(LockService.class).status("a");
				assertThat(context.getBean(Timing.class).calls).hasValue(1);
			});
	}

	@Test
	void needsSpringDataRedis() {
		new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class))
			.withClassLoader(new FilteredClassLoader(RedisConnectionFactory.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LockService.class)
				.doesNotHaveBean(SemaphoreService.class));
	}

	@Test
	void isSwitchedOffByProperty() {
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LockService.class)
				.doesNotHaveBean(SemaphoreService.class));
	}

	@Test
	void addsNoTemplateOrExecutorOfItsOwn() {
		this.runner.run((context) -> {
			assertThat(context.getBeanNamesForType(StringRedisTemplate.class)).containsExactly("stringRedisTemplate");
			assertThat(context.getBeanNamesForType(java.util.concurrent.Executor.class)).isEmpty();
		});
	}

	@Test
	void defaultsAreThoseOfTheEngineAndTheStore() {
		this.runner.run((context) -> {
			HoldfastProperties properties = context.getBean(HoldfastProperties.class);
			assertThat(properties.engineSettings()).isEqualTo(EngineSettings.defaults());
			assertThat(properties.lock().keyPrefix()).isEqualTo(this.redis.keyPrefix());
		});
		this.runner.withPropertyValues("holdfast.lock.key-prefix=lock:", "holdfast.semaphore.key-prefix=semaphore:")
			.run((context) -> assertThat(context.getBean(HoldfastProperties.class).storeOptions())
				.isEqualTo(TestOptions.defaults()));
	}

	@Test
	void waitsWithoutLimitByDefaultIfToldSo() {
		this.runner.withPropertyValues("holdfast.lock.wait-time=-1").run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease lease = locks.acquire("a");
			CompletableFuture<LockLease> waiting = locks.acquireAsync(LockRequest.of("a"));
			assertThat(waiting).isNotDone();
			lease.release();
			assertThat(waiting).succeedsWithin(Duration.ofSeconds(10)).satisfies(LockLease::release);
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "lock.wait-time=-1s", "lock.wait-time=366d", "lock.lease-time=99ms", "lock.max-hold=29s",
			"lock.heal-missing-ttl=99ms", "lock.fence-retention=999ms", "wake-up.retry-interval=9ms",
			"wake-up.handoff-timeout=99ms", "redis.command-timeout=49ms", "lock.lease-time=366d", "fleet.key=",
			"redis.longest-lease=99ms", "lock.local-hand-over.max-count=64", "lock.local-hand-over.max-count=-1",
			"lock.local-hand-over.max-time=-1ms", "semaphore.local-hand-over.max-count=64",
			"semaphore.local-hand-over.max-time=-1ms", "limits.waiters=0", "limits.waiters-per-key=0",
			"redis.min-replicas=-1", "redis.replica-timeout=0", "redis.outage-patience=-1ms", "semaphore.wait-time=-1s",
			"semaphore.lease-time=99ms", "optimistic.max-attempts=0", "optimistic.max-time=0",
			"optimistic.back-off=0" })
	void refusesABadValueWithItsNameAndOrigin(String setting) {
		String property = "holdfast." + setting.substring(0, setting.indexOf('='));
		this.runner.withPropertyValues("holdfast." + setting).run((context) -> {
			assertThat(context.getStartupFailure()).rootCause()
				.isInstanceOf(InvalidConfigurationPropertyValueException.class)
				.hasMessageContaining(property);
			assertThat(context.getStartupFailure()).as("a message has an origin only outside of binding")
				.satisfies((failure) -> assertThat(causes(failure)).noneMatch(BindException.class::isInstance));
		});
	}

	@Test
	void acceptsTheDocumentedMinima() {
		this.runner
			.withPropertyValues("holdfast.lock.lease-time=100ms", "holdfast.semaphore.lease-time=100ms",
					"holdfast.lock.max-hold=100ms", "holdfast.lock.heal-missing-ttl=100ms",
					"holdfast.lock.fence-retention=1s", "holdfast.wake-up.retry-interval=10ms",
					"holdfast.wake-up.handoff-timeout=100ms", "holdfast.redis.command-timeout=50ms",
					"holdfast.redis.longest-lease=100ms", "holdfast.limits.waiters=1")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@ParameterizedTest
	@ValueSource(strings = { "lock", "semaphore" })
	void refusesLeasesThatOutlastTheFailOverGrace(String kind) {
		String[] settings = { "holdfast." + kind + ".lease-time=31s", "holdfast.redis.fail-over-grace=true" };
		this.runner.withPropertyValues(settings)
			.run((context) -> assertThat(context.getStartupFailure()).rootCause()
				.isInstanceOf(InvalidConfigurationPropertyValueException.class)
				.hasMessageContaining("holdfast." + kind + ".lease-time")
				.hasMessageContaining("holdfast.redis.longest-lease (30s)"));
		this.runner.withPropertyValues(settings)
			.withPropertyValues("holdfast.redis.longest-lease=31s")
			.run((context) -> assertThat(context).hasNotFailed());
		this.runner.withPropertyValues(settings[0]).run((context) -> assertThat(context).hasNotFailed());
	}

	@ParameterizedTest
	@ValueSource(strings = { "lock", "semaphore" })
	void refusesToWaitForReplicasForLongerThanALeaseAllows(String kind) {
		String[] times = { "holdfast.redis.replica-timeout=2s", "holdfast." + kind + ".lease-time=5s" };
		this.runner.withPropertyValues(times).run((context) -> assertThat(context).hasNotFailed());
		this.runner.withPropertyValues(times)
			.withPropertyValues("holdfast.redis.min-replicas=1")
			.run((context) -> assertThat(context.getStartupFailure()).rootCause()
				.isInstanceOf(InvalidConfigurationPropertyValueException.class)
				.hasMessageContaining("holdfast.redis.replica-timeout"));
	}

	@ParameterizedTest
	@CsvSource({ "min-replicas, 1, set 0", "fail-over-grace, true, set false" })
	@DisplayName("Waits for replicas and a fail-over grace are refused in a cluster")
	void impossibleInCluster(String property, String value, String cure) {
		this.runner
			.withPropertyValues("holdfast.backend=redis", "spring.data.redis.cluster.nodes=127.0.0.1:1",
					"holdfast.redis." + property + "=" + value)
			.run((context) -> assertThat(context.getStartupFailure()).rootCause()
				.isInstanceOf(InvalidConfigurationPropertyValueException.class)
				.hasMessageContainingAll("holdfast.redis." + property, value, cure));
	}

	@Test
	@DisplayName("The engine and the store have the configured values")
	void properties() {
		this.runner
			.withPropertyValues("holdfast.semaphore.key-prefix=permits:", "holdfast.semaphore.wait-time=3s",
					"holdfast.semaphore.lease-time=20s", "holdfast.semaphore.fair=false")
			.run((context) -> {
				HoldfastProperties properties = context.getBean(HoldfastProperties.class);
				EngineSettings settings = properties.engineSettings();
				assertThat(settings.semaphoreWaitTime()).isEqualTo(Duration.ofSeconds(3));
				assertThat(settings.semaphoreLeaseTime()).isEqualTo(Duration.ofSeconds(20));
				assertThat(settings.semaphoreFair()).isFalse();
				assertThat(properties.storeOptions().semaphorePrefix()).isEqualTo("permits:");
			});
	}

	@ParameterizedTest
	@ValueSource(strings = { "0", "-1", "365d" })
	void allowsWaits(String waitTime) {
		this.runner.withPropertyValues("holdfast.semaphore.wait-time=" + waitTime)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	private static List<Throwable> causes(Throwable failure) {
		return Stream.iterate(failure, Objects::nonNull, Throwable::getCause).toList();
	}

	@Test
	void everyPropertyIsDescribed() throws IOException {
		String metadata = new ClassPathResource("META-INF/spring-configuration-metadata.json")
			.getContentAsString(StandardCharsets.UTF_8);
		List<String> names = JsonPath.read(metadata, "$.properties[*].name");
		List<String> descriptions = JsonPath.read(metadata, "$.properties[*].description");
		assertThat(names).hasSizeGreaterThan(10).hasSameSizeAs(descriptions);
		assertThat(descriptions).allMatch((description) -> description.length() > 10);
	}

	@Aspect
	static class Timing {

		final AtomicInteger calls = new AtomicInteger();

		@Before("execution(* io.holdfast.LockService.status(..))")
		void count() {
			this.calls.incrementAndGet();
		}

	}

}
