package io.holdfast.memory;

import java.time.Duration;

import io.holdfast.engine.store.ModeOrderContract;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.SharedStores;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Permit contract of the store inside the JVM.
 */
class MemoryPermitStoreTests extends ModeOrderContract {

	private final MemoryStores stores = new MemoryStores(HANDOFF);

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

	@Test
	@DisplayName("F47 unused semaphores leave no state, except limits of an operator")
	void forgetsUnused() {
		for (int i = 0; i < 100; i++) {
			Resource semaphore = new Resource(Kind.SEMAPHORE, "churn" + i);
			Resource lock = new Resource(Kind.LOCK, "churn" + i);
			granted(this.a.acquire(semaphore, command(this.a, "1", 1)));
			granted(this.a.acquire(lock, reader(this.a, "2")));
			get(this.a.store.limit(new Resource(Kind.SEMAPHORE, "limited"), i));
			elapse(Duration.ofMillis(1));
			assertThat(this.stores.leases.isIdle()).isFalse();
			assertThat(this.a.release(semaphore, command(this.a, "1", 1))).isTrue();
			assertThat(this.a.release(lock, reader(this.a, "2"))).isTrue();
			assertThat(this.stores.leases.isIdle()).isTrue();
		}
		assertThat(this.stores.leases.size()).isEqualTo(1);
		get(this.a.store.limit(new Resource(Kind.SEMAPHORE, "limited"), null));
		assertThat(this.stores.leases.size()).isZero();
	}

	@Test
	@DisplayName("F47 expired permits leave no state, even without a further request")
	void forgetsWhatEnded() {
		for (int i = 0; i < 5000; i++) {
			granted(this.a.acquire(new Resource(Kind.SEMAPHORE, "churn" + i), brief(command(this.a, "1", 1))));
			granted(this.a.acquire(new Resource(Kind.LOCK, "churn" + i), brief(reader(this.a, "2"))));
			elapse(Duration.ofMillis(1));
		}
		// At most the permits of the last 300 ms are in use, which is 600.
		assertThat(this.stores.leases.size()).isLessThan(3000);
		elapse(MORE_THAN_SHORT);
		assertThat(this.stores.leases.isIdle()).isTrue();
	}

}
