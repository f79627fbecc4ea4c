package io.holdfast.redis;

import io.holdfast.engine.store.InstanceStoreContract;
import io.holdfast.engine.store.SharedStores;
import org.junit.jupiter.api.AfterEach;

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
	protected SharedStores stores() {
		return this.stores;
	}

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

}
