package io.holdfast.redis.driver;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisSocketConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Where Redis is, in words.
 */
class RedisAddressTests {

	static Stream<Arguments> addresses() {
		RedisStandaloneConfiguration secret = new RedisStandaloneConfiguration("redis", 6380);
		secret.setDatabase(2);
		secret.setUsername("user");
		secret.setPassword("secret");
		return Stream.of(Arguments.of(new RedisStandaloneConfiguration("localhost", 6379), "localhost:6379"),
				Arguments.of(secret, "redis:6380, database 2"),
				Arguments.of(new RedisSentinelConfiguration("main", Set.of("a:1", "b:2")),
						"the master 'main' of the sentinels a:1, b:2"),
				Arguments.of(new RedisClusterConfiguration(List.of("d:4", "c:3", "b:2", "a:1")),
						"the cluster of a:1, b:2, c:3 and 1 more"),
				Arguments.of(new RedisSocketConfiguration("/run/redis"), "/run/redis"));
	}

	@ParameterizedTest
	@MethodSource("addresses")
	@DisplayName("The address has host and port, or socket or master name, without user and password")
	void address(RedisConfiguration configuration, String address) {
		assertThat(RedisAddress.describe(configuration)).isEqualTo(address);
	}

}
