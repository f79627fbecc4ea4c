package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Applications with Jedis; Holdfast itself reaches Redis by Lettuce.
 */
class JedisTests extends FaultTestCase {

	private static final String KEY = "jedis";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitForever().leaseTime(Duration.ofMinutes(1));

	private static final String JEDIS = "spring.data.redis.client-type=jedis";

	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	@Test
	@DisplayName("Jedis: hand-offs come by wake-ups, between Jedis applications and with Lettuce")
	void handOff() {
		Instance instance = this.fleet.start(JEDIS, ASK_SELDOM);
		Instance other = this.fleet.start(JEDIS, ASK_SELDOM);
		Instance lettuce = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(3);
		instance.assertHandsOverTo(other);
		other.assertHandsOverTo(lettuce);
		lettuce.assertHandsOverTo(instance);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F9 F10 Jedis: deadlines are kept, the store's trouble is thrown, and locks work again afterwards")
	void silenceAndOutage() {
		FaultProxy proxy = this.fleet.proxy();
		Instance instance = this.fleet.start(proxy, JEDIS, "holdfast.redis.command-timeout=500ms",
				"spring.data.redis.timeout=2s");
		instance.warmUp();
		proxy.blackHole();
		long start = System.nanoTime();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> instance.locks().tryAcquire(LockRequest.of(KEY).waitTime(Duration.ofMillis(500))));
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(3500));
		proxy.pass();
		proxy.down();
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.tryAcquire(KEY));
		proxy.up();
		await("a lock on the same instance").atMost(SOON).ignoreExceptions().until(() -> {
			instance.acquire(REQUEST.waitTime(SOON)).close();
			return true;
		});
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Jedis: the application's connections are used for nothing")
	void connectionsOfTheApplication() {
		Instance instance = this.fleet.start(UnusableApplication.class, ASK_SELDOM);
		Instance other = this.fleet.start(UnusableApplication.class, ASK_SELDOM);
		this.fleet.awaitListening(2);
		instance.assertHandsOverTo(other);
		LeaseEngine engine = instance.engine();
		assertThat(engine.examine()).succeedsWithin(SOON);
		instance.close();
		other.close();
		this.fleet.awaitNothingLeft();
	}

	static class UnusableApplication extends TestApplication {

		@Bean
		JedisConnectionFactory unusable(@Value("${spring.data.redis.host}") String host,
				@Value("${spring.data.redis.port}") int port) {
			return new JedisConnectionFactory(new RedisStandaloneConfiguration(host, port)) {

				@Override
				public RedisConnection getConnection() {
					throw new AssertionError("used");
				}

			};
		}

	}

}
