package io.holdfast.memory;

import io.holdfast.engine.store.InstanceStoreContract;
import io.holdfast.engine.store.SharedStores;

/**
 * The store inside the JVM tells of the fleet, too.
 */
class MemoryFleetStoreTests extends InstanceStoreContract {

	private final MemoryStores stores = new MemoryStores();

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

}
