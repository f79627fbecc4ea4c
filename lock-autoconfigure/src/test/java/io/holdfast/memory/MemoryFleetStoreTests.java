package io.holdfast.memory;

import io.holdfast.engine.store.InstanceStoreContract;
import io.holdfast.engine.store.SharedStores;

/**
 * Fleet contract of the store inside the JVM.
 */
class MemoryFleetStoreTests extends InstanceStoreContract {

	private final MemoryStores stores = new MemoryStores();

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

}
