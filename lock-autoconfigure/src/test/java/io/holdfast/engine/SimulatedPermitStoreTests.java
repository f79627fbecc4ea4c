package io.holdfast.engine;

import java.time.Duration;

import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.ModeOrderContract;
import org.jspecify.annotations.Nullable;

/**
 * The store that simulations use keeps the contract of permits, too.
 */
class SimulatedPermitStoreTests extends ModeOrderContract {

	private final SimulatedStores stores = new SimulatedStores(HANDOFF);

	@Override
	protected LeaseStore newStore() {
		return this.stores.newStore();
	}

	@Override
	protected LeaseStore newPollingStore() {
		return this.stores.newPollingStore();
	}

	@Override
	protected void leave(Instance instance) {
		instance.store.close();
	}

	@Override
	protected void elapse(Duration time) {
		this.stores.elapse(time);
	}

	@Override
	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		this.stores.putForeign(key, value, ttl);
	}

}
