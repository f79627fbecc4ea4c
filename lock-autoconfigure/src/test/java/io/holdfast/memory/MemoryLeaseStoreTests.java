package io.holdfast.memory;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

import io.holdfast.engine.LeaseStore;
import io.holdfast.engine.LeaseStoreContract;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The store inside the JVM keeps the same contract as the one in Redis.
 */
class MemoryLeaseStoreTests extends LeaseStoreContract {

	private final AtomicLong elapsed = new AtomicLong();

	private final MemoryLeases leases = new MemoryLeases(() -> System.nanoTime() + this.elapsed.get());

	@Override
	protected LeaseStore newStore() {
		return new MemoryLeaseStore(this.leases);
	}

	@Override
	protected void elapse(Duration time) {
		this.elapsed.addAndGet(time.toNanos());
	}

	@Override
	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		this.leases.takeIfFree(key, value, (ttl != null) ? ttl.toMillis() : -1);
	}

	@Test
	@DisplayName("a waiter that polls is never taken for one that is gone")
	void pollingWaiterKeepsItsTurn() {
		granted(this.a.acquire("1"));
		((MemoryLeaseStore) this.b.store).setListening(false);
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		this.a.release("1");
		assertThat(this.c.inspect().owner()).isEqualTo(this.b.token("1"));
	}

}
