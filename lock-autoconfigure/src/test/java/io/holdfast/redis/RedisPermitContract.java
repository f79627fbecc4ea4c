package io.holdfast.redis;

import java.time.Duration;

import io.holdfast.engine.LeaseStore;
import io.holdfast.engine.PermitStoreContract;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;

import static org.awaitility.Awaitility.await;

/**
 * The contract of permits in Redis over Lettuce.
 */
@WithRedis
class RedisPermitStoreTests extends PermitStoreContract {

	private final TestStores stores;

	RedisPermitStoreTests(TestRedis redis) {
		this.stores = new TestStores(redis.keyPrefix(), redis.template(), redis::connectionFactory);
	}

	@Override
	protected LeaseStore newStore() {
		return this.stores.open(HANDOFF, false);
	}

	@Override
	protected LeaseStore newPollingStore() {
		return this.stores.open(HANDOFF, true);
	}

	@Override
	protected void leave(Instance instance) {
		instance.store.close();
		this.stores.awaitGone(instance.id);
	}

	@Override
	protected void elapse(Duration time) {
		await().pollDelay(time).until(() -> true);
	}

	@Override
	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		this.stores.putForeign(key, value, ttl);
	}

}
