package io.holdfast.memory;

import io.holdfast.engine.store.FleetStoreContract;
import io.holdfast.engine.store.SharedStores;

/**
 * Fleet contract of the store inside the JVM.
 */
class MemoryFleetStoreTests extends FleetStoreContract {

	private final MemoryStores stores = new MemoryStores();

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

}
