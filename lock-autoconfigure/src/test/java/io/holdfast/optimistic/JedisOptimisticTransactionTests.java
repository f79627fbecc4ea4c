package io.holdfast.optimistic;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * Optimistic transactions over Jedis.
 */
@WithRedis
class JedisOptimisticTransactionTests extends OptimisticTransactionContract {

	private final List<JedisConnectionFactory> factories = new ArrayList<>();

	JedisOptimisticTransactionTests(TestRedis redis) {
		super(redis);
	}

	@Override
	RedisConnectionFactory connect(String host, int port) {
		JedisConnectionFactory connections = new JedisConnectionFactory(new RedisStandaloneConfiguration(host, port));
		this.factories.add(connections);
		customize(connections);
		connections.afterPropertiesSet();
		connections.start();
		return connections;
	}

	void customize(JedisConnectionFactory connections) {
	}

	@Override
	RedisConnectionFactory cluster(RedisClusterConfiguration configuration) {
		return new JedisConnectionFactory(configuration);
	}

	@AfterEach
	void closeFactories() {
		this.factories.forEach(JedisConnectionFactory::destroy);
	}

}
