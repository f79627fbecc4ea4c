package io.holdfast.redis;

import java.time.Duration;

import io.holdfast.engine.LeaseStore;
import io.holdfast.engine.PermitStoreContract;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

import static org.awaitility.Awaitility.await;

/**
 * The contract of permits for stores in Redis.
 */
abstract class RedisPermitContract extends PermitStoreContract {

	protected final TestStores stores;

	RedisPermitContract(TestStores stores) {
		this.stores = stores;
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

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

}
