package io.holdfast.memory;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

import io.holdfast.engine.store.InstanceStoreContract;
import io.holdfast.engine.store.LeaseStore;
import org.jspecify.annotations.Nullable;

/**
 * The store inside the JVM tells of the fleet, too.
 */
class MemoryFleetStoreTests extends InstanceStoreContract {

	private final AtomicLong elapsed = new AtomicLong();

	private final MemoryLeases leases = new MemoryLeases(() -> System.nanoTime() + this.elapsed.get());

	@Override
	protected LeaseStore newStore() {
		return new MemoryLeaseStore(this.leases);
	}

	@Override
	protected LeaseStore newPollingStore() {
		return newStore();
	}

	@Override
	protected void leave(Instance instance) {
		instance.store.close();
	}

	@Override
	protected void elapse(Duration time) {
		this.elapsed.addAndGet(time.toNanos());
	}

	@Override
	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		this.leases.takeIfFree(key, value, (ttl != null) ? ttl.toMillis() : -1);
	}

}
