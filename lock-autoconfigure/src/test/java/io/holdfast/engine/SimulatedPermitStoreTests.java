package io.holdfast.engine;

import io.holdfast.engine.store.ModeOrderContract;
import io.holdfast.engine.store.SharedStores;

/**
 * The simulated store keeps the contract of permits and modes.
 */
class SimulatedPermitStoreTests extends ModeOrderContract {

	private final SimulatedStores stores = new SimulatedStores(HANDOFF);

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

}
