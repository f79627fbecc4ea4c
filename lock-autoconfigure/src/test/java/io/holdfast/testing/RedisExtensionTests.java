package io.holdfast.testing;

import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;

@WithRedis
class RedisExtensionTests {

	private final TestRedis redis;

	RedisExtensionTests(TestRedis redis) {
		this.redis = redis;
	}

	@BeforeEach
	void setUp(TestRedis redis) {
		assertThat(redis).isSameAs(this.redis);
	}

	@Test
	@DisplayName("The end of a test closes its connections, stops its servers and deletes its keys, no others")
	void cleansUp() throws Exception {
		TestRedis ending = new TestRedis(SharedRedis.get());
		StringRedisTemplate template = this.redis.template();
		List<String> keys = List.of(ending.keyPrefix() + "k", "{" + ending.keyPrefix() + "k}:queue",
				"{" + ending.keyPrefix() + "k}:fence");
		keys.forEach((key) -> template.opsForValue().set(key, "1"));
		template.opsForValue().set(this.redis.keyPrefix() + "k", "1");
		LettuceConnectionFactory connections = ending.connectionFactory();
		RedisServer server = ending.startServer();

		ending.close();

		assertThat(template.countExistingKeys(keys)).isZero();
		assertThat(template.hasKey(this.redis.keyPrefix() + "k")).isTrue();
		assertThat(connections.isRunning()).isFalse();
		assertThat(RedisPing.isAnswered(server.host(), server.port())).isFalse();
	}

}
