package io.holdfast.optimistic;

import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;

import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * Optimistic transactions over Jedis as in Spring before Jedis 7: one connection of the
 * pool for reading and writing.
 */
@WithRedis
@Slow
class PooledJedisOptimisticTransactionTests extends JedisOptimisticTransactionTests {

	PooledJedisOptimisticTransactionTests(TestRedis redis) {
		super(redis);
	}

	@Override
	void customize(JedisConnectionFactory connections) {
		BeanWrapper properties = PropertyAccessorFactory.forBeanPropertyAccess(connections);
		// Without UnifiedJedis, Spring Data Redis uses the pool.
		if (properties.isWritableProperty("useUnifiedJedis")) {
			properties.setPropertyValue("useUnifiedJedis", false);
		}
	}

}
