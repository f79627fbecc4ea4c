package io.holdfast.memory;

import java.time.Duration;

import io.holdfast.engine.store.FailOverGraceContract;
import io.holdfast.engine.store.SharedStores;

/**
 * Grace after a fail-over in the store inside the JVM, on which the engine is simulated.
 */
class MemoryFailOverGraceTests extends FailOverGraceContract {

	private final MemoryStores stores = new MemoryStores();

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

	@Override
	protected void failOver(Runnable lost) {
		MemoryReplica replica = new MemoryReplica(this.stores.leases);
		lost.run();
		replica.takeOver(this.stores.leases, Duration.ofMillis(GRACE));
	}

}
