package io.holdfast.redis;

import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;

/**
 * The contract of permits in Redis over Lettuce.
 */
@WithRedis
class RedisPermitStoreTests extends RedisPermitContract {

	RedisPermitStoreTests(TestRedis redis) {
		super(new TestStores(redis.keyPrefix(), redis.template(), redis::connectionFactory));
	}

}
