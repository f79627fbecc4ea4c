package io.holdfast.fleet;

import java.util.List;

import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.HashOperations;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Instances with incompatible versions of the protocol in Redis. The other instances are
 * entries in the hash of instances.
 */
@WithRedis
class ProtocolTests {

	private static final String OTHER = "0123456789abcdef0123456789abcdef";

	private static final String SEPARATOR = "\u001f";

	private final TestRedis redis;

	private final HashOperations<String, String, String> instances;

	private final String fleetKey;

	ProtocolTests(TestRedis redis) {
		this.redis = redis;
		this.instances = redis.template().opsForHash();
		this.fleetKey = TestApplication.fleetKey(redis.keyPrefix());
	}

	private ConfigurableApplicationContext start() {
		return TestApplication.start(this.redis.host(), this.redis.port(), this.redis.keyPrefix(),
				List.of("spring.application.name=shop"));
	}

	/**
	 * Register another instance with the same description but for its version.
	 */
	private void registerOther(String version) {
		this.redis.template().delete(this.fleetKey);
		try (ConfigurableApplicationContext context = start()) {
			assertThat(context.isActive()).isTrue();
			String own = this.instances.values(this.fleetKey).get(0);
			List<String> fields = List.of(own.split(SEPARATOR));
			assertThat(fields).as("an entry").hasSize(8);
			this.instances.put(this.fleetKey, OTHER, String.join(SEPARATOR, fields.subList(0, 6)) + version);
		}
		assertThat(this.instances.keys(this.fleetKey)).containsExactly(OTHER);
	}

	@Test
	@DisplayName("An instance that needs a newer version keeps this application from starting; the message names both,"
			+ " the instance and the cure")
	void tooOld() {
		registerOther(SEPARATOR + "7" + SEPARATOR + "5");
		assertThat(TestApplication.refusal(this::start)).rootCause()
			.hasMessageContaining("cannot share locks and semaphores")
			.hasMessageContaining("(shop, process " + ProcessHandle.current().pid() + " on ")
			.hasMessageContaining("speaks version 7 of the protocol in Redis, which needs 5 or newer, and this one"
					+ " speaks 2. Start this application with a newer version of Holdfast")
			.hasMessageContaining("stop all instances, wait for the longest lease time, and start them")
			.hasMessageNotContaining(OTHER);
		assertThat(this.instances.keys(this.fleetKey)).as("instances").containsExactly(OTHER);
	}

}
