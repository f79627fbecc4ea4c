package io.holdfast.memory;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.SharedStores;
import org.jspecify.annotations.Nullable;

/**
 * Stores inside the JVM, whose clock the test advances.
 */
final class MemoryStores implements SharedStores {

	private final AtomicLong elapsed = new AtomicLong();

	final MemoryLeases leases;

	MemoryStores() {
		this.leases = new MemoryLeases(this::nanoTime);
	}

	MemoryStores(Duration handoffTimeout) {
		this.leases = new MemoryLeases(this::nanoTime, handoffTimeout);
	}

	private long nanoTime() {
		return System.nanoTime() + this.elapsed.get();
	}

	@Override
	public LeaseStore open(boolean polling) {
		return new MemoryLeaseStore(this.leases);
	}

	@Override
	public void elapse(Duration time) {
		this.elapsed.addAndGet(time.toNanos());
	}

	@Override
	public void putForeign(String key, String value, @Nullable Duration ttl) {
		this.leases.takeIfFree(key, value, (ttl != null) ? ttl.toMillis() : -1);
	}

}
