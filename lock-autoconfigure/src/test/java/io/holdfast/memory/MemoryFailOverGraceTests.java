package io.holdfast.memory;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

import io.holdfast.engine.store.FailOverGraceContract;
import io.holdfast.engine.store.LeaseStore;
import org.jspecify.annotations.Nullable;

/**
 * The grace of the store inside the JVM, on which the engine is simulated.
 */
class MemoryFailOverGraceTests extends FailOverGraceContract {

	private final AtomicLong elapsed = new AtomicLong();

	private final MemoryLeases leases = new MemoryLeases(() -> System.nanoTime() + this.elapsed.get());

	@Override
	protected void failOver(Runnable lost) {
		MemoryLeases.Replica replica = this.leases.replica();
		lost.run();
		this.leases.failOver(replica, Duration.ofMillis(GRACE));
	}

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
