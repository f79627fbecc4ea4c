package io.holdfast.redis;

import java.time.Duration;

import io.holdfast.engine.LeaseStore;
import io.holdfast.engine.LeaseStoreContract;
import io.holdfast.redis.RedisLeaseStore.Options;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.StringRedisTemplate;

import static org.awaitility.Awaitility.await;

/**
 * The contract of a store, in Redis over Lettuce.
 */
@WithRedis
class RedisLeaseStoreTests extends LeaseStoreContract {

	private final TestRedis redis;

	RedisLeaseStoreTests(TestRedis redis) {
		this.redis = redis;
	}

	@Override
	protected LeaseStore newStore() {
		Options options = new Options(this.redis.keyPrefix(), this.redis.keyPrefix() + "wake:", null,
				Duration.ofSeconds(20), Duration.ofSeconds(5), false);
		return new RedisLeaseStore(new StringRedisTemplate(this.redis.connectionFactory()), options);
	}

	@Override
	protected void elapse(Duration time) {
		await().pollDelay(time).until(() -> true);
	}

	@Override
	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		String lockKey = this.redis.keyPrefix() + key;
		if (ttl != null) {
			this.redis.template().opsForValue().set(lockKey, value, ttl);
		}
		else {
			this.redis.template().opsForValue().set(lockKey, value);
		}
	}

}
