package io.holdfast.memory;

import java.time.Duration;

import io.holdfast.engine.store.FailOverGraceContract;
import io.holdfast.engine.store.SharedStores;

/**
 * The grace of the store inside the JVM, on which the engine is simulated.
 */
class MemoryFailOverGraceTests extends FailOverGraceContract {

	private final MemoryStores stores = new MemoryStores();

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

	@Override
	protected void failOver(Runnable lost) {
		MemoryLeases.Replica replica = this.stores.leases.replica();
		lost.run();
		this.stores.leases.failOver(replica, Duration.ofMillis(GRACE));
	}

}
