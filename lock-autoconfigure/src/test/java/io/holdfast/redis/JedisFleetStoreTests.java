package io.holdfast.redis;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;

import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * What a store in Redis tells of the fleet, over a driver that blocks.
 */
@WithRedis
class JedisFleetStoreTests extends RedisFleetContract {

	JedisFleetStoreTests(TestRedis redis) {
		super(new TestStores(redis.keyPrefix() + PREFIX, redis.template(), () -> connect(redis)));
	}

	private static JedisConnectionFactory connect(TestRedis redis) {
		JedisConnectionFactory factory = new JedisConnectionFactory(
				new RedisStandaloneConfiguration(redis.host(), redis.port()));
		factory.afterPropertiesSet();
		factory.start();
		return factory;
	}

}
