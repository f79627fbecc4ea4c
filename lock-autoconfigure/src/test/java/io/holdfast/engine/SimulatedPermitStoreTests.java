package io.holdfast.engine;

import io.holdfast.engine.store.ModeOrderContract;
import io.holdfast.engine.store.SharedStores;

/**
 * The store that simulations use keeps the contract of permits, too.
 */
class SimulatedPermitStoreTests extends ModeOrderContract {

	private final SimulatedStores stores = new SimulatedStores(HANDOFF);

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

}
