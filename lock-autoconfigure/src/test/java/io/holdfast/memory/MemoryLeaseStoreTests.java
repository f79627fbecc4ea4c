package io.holdfast.memory;

import java.time.Duration;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStoreContract;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.SharedStores;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * The store inside the JVM keeps the same contract as the store in Redis.
 */
class MemoryLeaseStoreTests extends LeaseStoreContract {

	private final MemoryStores stores = new MemoryStores();

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

	@Test
	@DisplayName("A queue without requests expires")
	void forgetsQueue() {
		granted(this.a.acquireBriefly("1"));
		busy(this.b.acquire("1"));
		elapse(Duration.ofMillis(2 * CLAIM - 1));
		assertThat(this.c.inspect()).extracting(Standing::owner, Standing::waiting).containsExactly(null, 1);
		elapse(Duration.ofMillis(2));
		granted(this.c.acquire("1"));
		assertThat(this.b.wakeUps).isEmpty();
		assertThat(this.c.inspect().waiting()).isZero();
	}

	@Test
	@DisplayName("The description lists holders and waiters, for leftovers of a test")
	void toldInWords() {
		assertThat(this.stores.leases).hasToString("nothing is held or waited for");
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		assertThat(this.stores.leases.toString())
			.matches("lock '" + KEY + "' is held by instance [0-9a-f]+ \\(\\d+ ms left\\), waited for by 1");
	}

	@Test
	@DisplayName("A listener at an uncounted replica is not notified of a grant that is taken back")
	void tellsOfNoGrantThatIsTakenBack() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		MemoryLeaseStore atReplica = (MemoryLeaseStore) this.b.store;
		atReplica.setCounted(false);
		assertThat(atReplica.isListening()).isTrue();
		this.a.release("1");
		assertThat(this.b.wakeUps).isEmpty();
		assertThat(this.c.inspect().owner()).isEqualTo(this.c.token("1"));
		atReplica.setCounted(true);
		busy(this.b.acquire("2"));
		this.c.release("1");
		assertThat(this.b.inspect().owner()).isEqualTo(this.b.token("2"));
		assertThat(this.b.wakeUps).hasSize(1);
	}

	@Test
	@DisplayName("F47 unused locks leave no state")
	void forgetsUnused() {
		for (int i = 0; i < 5000; i++) {
			Resource lock = lock("churn" + i);
			granted(this.a.acquire(lock, Commands.forLock(this.a.token("1"), LEASE, CLAIM)));
			assertThat(this.stores.leases.isIdle()).isFalse();
			assertThat(this.a.release(lock, Commands.forLock(this.a.token("1"), LEASE, CLAIM))).isTrue();
			assertThat(this.stores.leases.isIdle()).isTrue();
			elapse(Duration.ofMillis(1));
		}
		assertThat(this.stores.leases.size()).isLessThan(2000);
	}

}
