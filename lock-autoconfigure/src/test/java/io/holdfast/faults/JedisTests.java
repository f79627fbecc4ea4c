package io.holdfast.faults;

import io.holdfast.engine.LeaseEngine;
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

/**
 * Applications with Jedis; Holdfast itself reaches Redis by Lettuce.
 */
class JedisTests extends FaultTestCase {

	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

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
