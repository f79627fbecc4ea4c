package io.holdfast.redis;

import io.holdfast.engine.store.FleetStoreContract;
import io.holdfast.engine.store.SharedStores;
import org.junit.jupiter.api.AfterEach;

abstract class RedisFleetContract extends FleetStoreContract {

	/** Prefix behind a test's own, with all characters that patterns interpret. */
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
