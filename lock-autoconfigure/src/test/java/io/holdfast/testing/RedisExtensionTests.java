package io.holdfast.testing;

import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.RedisConnectionFailureException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

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
	@DisplayName("A test has one part of the shared Redis, and connections of its own to it")
	void connects(TestRedis redis) {
		assertThat(redis).isSameAs(this.redis);
		String key = redis.keyPrefix() + "a";
		new StringRedisTemplate(redis.connectionFactory()).opsForValue().set(key, "1");
		assertThat(redis.template().opsForValue().get(key)).isEqualTo("1");
		assertThat(redis.connectionFactory()).isNotSameAs(redis.connectionFactory());
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

	@Test
	@DisplayName("A server of the test's own takes options, can be killed, and comes back on its port without data")
	void restartsServer() {
		RedisServer server = this.redis.startServer("--maxmemory", "64mb", "--cluster-enabled", "yes");
		LettuceConnectionFactory connections = this.redis.connectionFactory(server.host(), server.port());
		try (RedisConnection connection = connections.getConnection()) {
			assertThat(connection.serverCommands().getConfig("maxmemory")).containsEntry("maxmemory", "67108864");
			assertThat(connection.serverCommands().info("cluster")).containsEntry("cluster_enabled", "1");
		}
		connections.stop();

		server.kill();
		connections.start();
		assertThatExceptionOfType(RedisConnectionFailureException.class).isThrownBy(connections::getConnection);

		server.restart();
		try (RedisConnection connection = connections.getConnection()) {
			assertThat(connection.ping()).isEqualTo("PONG");
			assertThat(connection.serverCommands().dbSize()).isZero();
		}
	}

	@Test
	@DisplayName("A server that does not start says why")
	void badOption() {
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> this.redis.startServer("--no-such-option", "1"))
			.withMessageContaining("no-such-option");
	}

}
