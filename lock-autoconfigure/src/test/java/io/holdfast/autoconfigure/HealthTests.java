package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.actuate.HoldfastHealthIndicator;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.Slow;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.health.actuate.endpoint.HealthEndpoint;
import org.springframework.boot.health.actuate.endpoint.StatusAggregator;
import org.springframework.boot.health.autoconfigure.actuate.endpoint.HealthEndpointAutoConfiguration;
import org.springframework.boot.health.autoconfigure.contributor.HealthContributorAutoConfiguration;
import org.springframework.boot.health.autoconfigure.registry.HealthContributorRegistryAutoConfiguration;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.health.registry.HealthContributorRegistry;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Health of the locks of an application, and its log at the start.
 */
@ExtendWith(OutputCaptureExtension.class)
class HealthTests extends RedisTestCase {

	private static final Duration SOON = Duration.ofSeconds(20);

	private static final String EVICTION = "may evict locks and permits while they are held";

	private final ApplicationContextRunner runner = new ApplicationContextRunner().withConfiguration(AutoConfigurations
		.of(HealthContributorRegistryAutoConfiguration.class, HealthContributorAutoConfiguration.class,
				HealthEndpointAutoConfiguration.class, DataRedisAutoConfiguration.class,
				HoldfastAutoConfiguration.class, HoldfastHealthAutoConfiguration.class));

	private final ApplicationContextRunner memory = this.runner.withPropertyValues("holdfast.backend=memory");

	private ApplicationContextRunner on(RedisServer server) {
		return this.runner.withPropertyValues("spring.data.redis.host=" + server.host(),
				"spring.data.redis.port=" + server.port(), "spring.lifecycle.timeout-per-shutdown-phase=1s",
				// High, so that a busy machine does not count as a silent Redis.
				"holdfast.redis.command-timeout=5s");
	}

	private static Health health(ApplicationContext context) {
		HealthContributor contributor = context.getBean(HealthContributorRegistry.class).getContributor("holdfast");
		assertThat(contributor).isInstanceOf(HoldfastHealthIndicator.class);
		return ((HealthIndicator) contributor).health();
	}

	@Test
	@DisplayName("Healthy locks are up")
	void up() {
		RedisServer server = this.redis.startServer();
		on(server).run((context) -> {
			await().atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
			assertThat(health(context).getDetails())
				.isEqualTo(Map.of("wakeUps", "received", "held", 0, "waiting", 0, "failingRenewals", 0));
			try (LockLease lease = context.getBean(LockService.class).acquire("a")) {
				assertThat(health(context).getDetails()).containsEntry("held", 1);
				assertThat(lease.isHeld()).isTrue();
			}
		});
	}

	@Test
	@DisplayName("The engine of an application without the auto-configuration of services has health")
	void ownEngine() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(HealthContributorRegistryAutoConfiguration.class,
					HealthContributorAutoConfiguration.class, HoldfastHealthAutoConfiguration.class))
			.withBean(LeaseEngine.class,
					() -> new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
							EngineSettings.defaults()))
			.run((context) -> assertThat(health(context).getStatus()).isEqualTo(Status.UP));
	}

	@Test
	@DisplayName("A missing subscription is healthy if waiters poll")
	void polling() {
		RedisServer server = this.redis.startServer();
		on(server).withPropertyValues("holdfast.wake-up.mode=polling").run((context) -> {
			assertThat(health(context).getStatus()).isEqualTo(Status.UP);
			assertThat(health(context).getDetails()).containsEntry("wakeUps", "polling, as configured");
		});
	}

	@Test
	@DisplayName("F35 without the right to subscribe the locks are degraded, with the reason; the application is up")
	void degraded() {
		RedisServer server = this.redis.startServer();
		acl(server, "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-subscribe");
		on(server)
			.withPropertyValues("spring.data.redis.username=app", "spring.data.redis.password=secret",
					"management.endpoint.health.status.order=down,out-of-service,degraded,up,unknown")
			.run((context) -> {
				await().atMost(SOON).until(() -> health(context).getDetails().containsKey("trouble"));
				Health health = health(context);
				assertThat(health.getStatus()).isEqualTo(HoldfastHealthIndicator.DEGRADED);
				assertThat(health.getDetails()).containsEntry("wakeUps", "not received")
					.hasEntrySatisfying("trouble",
							(trouble) -> assertThat(trouble).asString().contains("right", "subscribe"));
				assertThat(context.getBean(HealthEndpoint.class).health().getStatus()).as("with the documented order")
					.isEqualTo(HoldfastHealthIndicator.DEGRADED);
				acl(server, "SETUSER", "app", "+subscribe");
				await().atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
				assertThat(health(context).getDetails()).doesNotContainKey("trouble");
			});
	}

	@Test
	@DisplayName("Without that order a degraded part does not show in the aggregate")
	void order() {
		this.memory.run((context) -> assertThat(
				context.getBean(StatusAggregator.class).getAggregateStatus(Status.UP, HoldfastHealthIndicator.DEGRADED))
			.isEqualTo(Status.UP));
	}

	@Test
	@DisplayName("While renewals fail the locks are down, and up after the next success, without a wait for a silent Redis")
	void down() {
		RedisServer server = this.redis.startServer();
		on(server).withPropertyValues("holdfast.redis.command-timeout=200ms").run((context) -> {
			LockService locks = context.getBean(LockService.class);
			await().atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
			try (LockLease lease = locks.acquire(LockRequest.of("a").leaseTime(Duration.ofSeconds(9)))) {
				server.freeze();
				await("failure").atMost(SOON).until(() -> health(context).getStatus().equals(Status.DOWN));
				assertThat(health(context).getDetails()).containsEntry("failingRenewals", 1);
				server.thaw();
				await("recovery").atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
				assertThat(lease.key()).isEqualTo("a");
			}
		});
	}

	@Slow
	@Test
	@DisplayName("While Redis is silent the locks are degraded, even without a lease")
	void silent() {
		RedisServer server = this.redis.startServer();
		on(server).withPropertyValues("holdfast.redis.command-timeout=200ms").run((context) -> {
			await().atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
			server.freeze();
			await("silence").atMost(SOON)
				.until(() -> health(context).getStatus().equals(HoldfastHealthIndicator.DEGRADED));
			assertThat(health(context).getDetails()).containsEntry("trouble", "Redis does not answer")
				.containsEntry("wakeUps", "unknown");
			server.thaw();
			await("recovery").atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
		});
	}

	@Test
	@DisplayName("F33 eviction is a warning, in health and once at the start; the status stays")
	void warnings(CapturedOutput output) {
		RedisServer server = this.redis.startServer("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
		on(server).run((context) -> {
			await().atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
			assertThat(health(context).getDetails().get("warnings"))
				.asInstanceOf(InstanceOfAssertFactories.list(String.class))
				.singleElement()
				.asString()
				.contains(EVICTION);
			await().atMost(SOON).until(() -> output.toString().contains(EVICTION));
		});
		assertThat(output.toString()).containsOnlyOnce(EVICTION).containsPattern("WARN .*" + EVICTION);
	}

	@Test
	@DisplayName("An unknown setting gives no warning at the start")
	void unknown(CapturedOutput output) {
		RedisServer server = this.redis.startServer();
		acl(server, "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-info");
		on(server).withPropertyValues("spring.data.redis.username=app", "spring.data.redis.password=secret")
			.run((context) -> {
				await().atMost(SOON).until(() -> output.toString().contains("read its settings"));
				await().atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
				assertThat(health(context).getDetails()).containsKey("warnings");
			});
		assertThat(output.toString()).containsPattern("INFO .*read its settings")
			.doesNotContainPattern("WARN .*read its settings");
	}

	@Test
	@DisplayName("Without checks Redis is not asked for its settings")
	void withoutChecks() {
		RedisServer server = this.redis.startServer("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
		on(server).withPropertyValues("holdfast.redis.checks=false").run((context) -> {
			await().atMost(SOON).until(() -> health(context).getStatus().equals(Status.UP));
			assertThat(health(context).getDetails()).doesNotContainKey("warnings");
		});
		StringRedisTemplate observer = new StringRedisTemplate(
				this.redis.connectionFactory(server.host(), server.port()));
		String commands = observer.execute(
				(RedisCallback<String>) (connection) -> connection.serverCommands().info("commandstats").toString());
		assertThat(commands).contains("cmdstat_subscribe").doesNotContain("cmdstat_info");
	}

	private void acl(RedisServer server, String... words) {
		StringRedisTemplate observer = new StringRedisTemplate(
				this.redis.connectionFactory(server.host(), server.port()));
		observer.execute((RedisCallback<@Nullable Object>) (connection) -> connection.execute("ACL",
				List.of(words).stream().map(String::getBytes).toArray(byte[][]::new)));
	}

	@Test
	@DisplayName("Several engines have separate parts under their names")
	void several() {
		this.memory.withUserConfiguration(AnotherEngine.class).run((context) -> {
			HealthContributor contributor = context.getBean(HealthContributorRegistry.class).getContributor("holdfast");
			assertThat(contributor).isInstanceOf(CompositeHealthContributor.class);
			assertThat(((CompositeHealthContributor) contributor).stream().map((entry) -> entry.name()))
				.containsExactlyInAnyOrder("holdfastLeaseEngine", "secondEngine");
		});
	}

	@Test
	@DisplayName("There is no health indicator if it is switched off, or without Spring Boot's health module")
	void leftOut() {
		List<ApplicationContextRunner> without = List.of(
				this.memory.withPropertyValues("management.health.holdfast.enabled=false"),
				this.memory.withPropertyValues("management.health.defaults.enabled=false"),
				this.memory.withPropertyValues("holdfast.enabled=false"));
		without.forEach((each) -> each
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastHealthContributor")));
		new ApplicationContextRunner().withUserConfiguration(Imported.class)
			.withPropertyValues("holdfast.backend=memory")
			.withClassLoader(new FilteredClassLoader("org.springframework.boot.health"))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LockService.class)
				.doesNotHaveBean("holdfastHealthContributor"));
	}

	@Test
	@DisplayName("An application's own indicator takes precedence")
	void own() {
		this.memory.withBean("holdfastHealthIndicator", HealthIndicator.class, () -> () -> Health.up().build())
			.run((context) -> assertThat(context).hasBean("holdfastHealthIndicator")
				.doesNotHaveBean("holdfastHealthContributor"));
	}

	/** Imports by name, as in an application: skipped without being loaded. */
	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ HoldfastAutoConfiguration.class, HoldfastHealthAutoConfiguration.class })
	static class Imported {

	}

}
