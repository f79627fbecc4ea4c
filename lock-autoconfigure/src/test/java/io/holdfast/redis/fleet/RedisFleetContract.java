package io.holdfast.redis.fleet;

import java.time.Duration;

import io.holdfast.engine.store.InstanceStoreContract;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.redis.TestStores;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

import static org.awaitility.Awaitility.await;

/**
 * What stores in Redis tell of the fleet.
 */
abstract class RedisFleetContract extends InstanceStoreContract {

	/** Behind a test's prefix: what a pattern would take for something else. */
	static final String PREFIX = "[ab]*?\\{-^";

	protected final TestStores stores;

	RedisFleetContract(TestStores stores) {
		this.stores = stores;
	}

	@Override
	protected LeaseStore newStore() {
		return this.stores.open(Duration.ofSeconds(5), false);
	}

	@Override
	protected LeaseStore newPollingStore() {
		return this.stores.open(Duration.ofSeconds(5), true);
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

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

}
