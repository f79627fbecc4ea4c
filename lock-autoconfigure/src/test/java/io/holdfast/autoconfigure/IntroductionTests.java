package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;

import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

class IntroductionTests extends RedisTestCase {

	private ConfigurableApplicationContext start(String name) {
		return TestApplication.start(this.redis.host(), this.redis.port(), this.redis.keyPrefix(),
				List.of("spring.application.name=" + name));
	}

	private static Fleet fleet(ConfigurableApplicationContext context) {
		return Fleet.of(context.getBean(LeaseEngine.class));
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A line at the start names the server of Redis, the kind of wake-up, and the instance")
	void tellsWhereRedisIs(CapturedOutput output) {
		ConfigurableApplicationContext shop = start("shop");
		String instance = fleet(shop).instance();
		shop.close();
		String keeps = "Holdfast keeps locks and permits in Redis at \\Q" + this.redis.host() + ":" + this.redis.port()
				+ "\\E; waiters ";
		assertThat(output.toString()).containsPattern(keeps + "are woken by messages; this is instance " + instance);
		TestApplication
			.start(this.redis.host(), this.redis.port(), this.redis.keyPrefix(),
					List.of("holdfast.wake-up.mode=polling", "holdfast.redis.checks=false"))
			.close();
		assertThat(output.toString()).containsPattern(keeps + "ask at intervals");
		assertThat(output.toString().split("Holdfast keeps locks")).hasSize(3);
	}

	@Test
	@DisplayName("The start loads the scripts of a permit into Redis, and leaves no key there")
	void warmUp() {
		try (RedisServer server = this.redis.startServer();
				ConfigurableApplicationContext context = TestApplication.start(server.host(), server.port(), "warm:",
						List.of("holdfast.redis.checks=false"))) {
			StringRedisTemplate redis = new StringRedisTemplate(context.getBean(RedisConnectionFactory.class));
			String scripts = cachedScripts(redis);
			assertThat(redis.keys("*")).containsExactly(TestApplication.fleetKey("warm:"));
			context.getBean(SemaphoreService.class).acquire(SemaphoreRequest.of("k", 1)).close();
			assertThat(cachedScripts(redis)).isEqualTo(scripts);
		}
	}

	private static String cachedScripts(StringRedisTemplate redis) {
		return redis.execute((RedisCallback<String>) (
				connection) -> connection.serverCommands().info("memory").getProperty("number_of_cached_scripts"));
	}

	@Test
	@DisplayName("Instances are listed by application, host and process from their start to their end")
	void areKnown() {
		try (ConfigurableApplicationContext first = start("shop")) {
			try (ConfigurableApplicationContext second = start("reports")) {
				await().untilAsserted(() -> assertThat(fleet(first).members()).extracting(Member::instance)
					.containsExactlyInAnyOrder(fleet(first).instance(), fleet(second).instance()));
				assertThat(fleet(second).members()).extracting((member) -> member.info().application())
					.containsExactlyInAnyOrder("shop", "reports");
				assertThat(fleet(second).members()).allSatisfy((member) -> {
					assertThat(member.info().process()).isEqualTo(ProcessHandle.current().pid());
					assertThat(member.info().host()).isNotBlank();
					assertThat(member.seenMillis() - member.startedMillis()).isBetween(0L,
							Duration.ofMinutes(1).toMillis());
				});
			}
			assertThat(fleet(first).members()).extracting(Member::instance).containsExactly(fleet(first).instance());
			first.stop();
			assertThat(this.redis.template().hasKey(TestApplication.fleetKey(this.redis.keyPrefix()))).isFalse();
			first.start();
			await().untilAsserted(() -> assertThat(fleet(first).members()).hasSize(1));
		}
		assertThat(this.redis.template().hasKey(TestApplication.fleetKey(this.redis.keyPrefix()))).isFalse();
	}

}
