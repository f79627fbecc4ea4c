package io.holdfast.engine;

import java.time.Duration;

import io.holdfast.engine.store.LeaseStoreContract;
import io.holdfast.engine.store.SharedStores;

/**
 * The simulated store keeps the contract of locks.
 */
class SimulatedLeaseStoreTests extends LeaseStoreContract {

	private final SimulatedStores stores = new SimulatedStores(Duration.ofMillis(CLAIM));

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

}
