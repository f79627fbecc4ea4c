package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Redis carries a command for permits out, and its reply never arrives. The proxy waits
 * for a request that names the key, so that it is the one that the test sends next.
 */
class PoolLostReplyTests extends LostReplyTestCase {

	@BeforeEach
	void warmUp() {
		for (Pool pool : Pool.values()) {
			request(pool).warmUp(this.instance);
		}
	}

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(SOON);
	}

	private void assertAllFree(Pool pool) {
		pool.assertAllFree(this.fleet, KEY, this.other, this.instance);
	}

	@ParameterizedTest(name = "F5 the reply to ACQUIRE lost, and the command repeated by the driver: one grant ({0})")
	@EnumSource
	void acquireRepeated(Pool pool) {
		this.proxy.swallowRepliesThenFin(KEY);
		Lease lease = request(pool).acquire(this.instance);
		assertCut();
		assertThat(pool.holders(this.fleet, KEY)).isEqualTo(1);
		assertThat(request(pool).all().tryAcquire(this.other)).isEmpty();
		Lease second = request(pool).acquire(this.other);
		assertThat(request(pool).tryAcquire(this.other)).hasValueSatisfying(Lease::release);
		assertThat(pool.holders(this.fleet, KEY)).isEqualTo(2);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(second.release()).isEqualTo(ReleaseResult.RELEASED);
		assertAllFree(pool);
	}

	@ParameterizedTest(name = "F5 the reply to a waiter''s ACQUIRE lost, and the command repeated: one turn ({0})")
	@EnumSource
	void waitingAcquireRepeated(Pool pool) {
		Lease held = request(pool).all().acquire(this.other);
		this.proxy.swallowRepliesThenFin(KEY);
		CompletableFuture<Lease> waiting = request(pool).acquireInBackground(this.instance);
		await("lost reply").atMost(SOON).until(() -> this.proxy.cuts() == 1);
		pool.awaitQueued(this.fleet, KEY, 1);
		assertThat(waiting).isNotDone();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(pool.holders(this.fleet, KEY)).isEqualTo(1);
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		assertAllFree(pool);
	}

	@ParameterizedTest(name = "F5 the reply to RELEASE lost, and the command repeated: given back once ({0})")
	@EnumSource
	void releaseRepeated(Pool pool) {
		Lease lease = request(pool).acquire(this.instance);
		Lease second = request(pool).acquire(this.other);
		CompletableFuture<Lease> waiting = request(pool).all().acquireInBackground(this.other);
		pool.awaitQueued(this.fleet, KEY, 1);
		this.proxy.swallowRepliesThenFin(KEY);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertCut();
		assertThat(pool.holders(this.fleet, KEY)).isEqualTo(1);
		assertThat(waiting).isNotDone();
		assertThat(second.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			assertThat(request(pool).tryAcquire(this.instance)).isEmpty();
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		assertAllFree(pool);
	}

	@ParameterizedTest(name = "F5 the reply to RENEW lost, and the command repeated: held for the longer time ({0})")
	@EnumSource
	void renewRepeated(Pool pool) {
		Lease lease = request(pool).acquire(this.instance);
		this.proxy.swallowRepliesThenFin(KEY);
		lease.extend(Duration.ofMinutes(3));
		assertCut();
		assertThat(lease.isHeld()).isTrue();
		assertThat(pool.leaseLeft(this.fleet, KEY)).isGreaterThan(Duration.ofMinutes(2));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertAllFree(pool);
	}

	@ParameterizedTest(
			name = "F6 the reply to ACQUIRE lost by a reset: held, or the store''s trouble and cleaned up ({0})")
	@EnumSource
	void acquireReset(Pool pool) {
		this.proxy.swallowRepliesThenReset(KEY);
		try (Lease lease = request(pool).acquire(this.instance)) {
			assertThat(pool.holders(this.fleet, KEY)).isEqualTo(1);
			assertThat(lease.isHeld()).isTrue();
		}
		catch (LeaseStoreException ex) {
			assertThat(ex.getKey()).isEqualTo(KEY);
		}
		assertCut();
		assertAllFree(pool);
	}

	@ParameterizedTest(
			name = "F6 the reply to RELEASE lost by a reset: RELEASED, or the store''s trouble, and free ({0})")
	@EnumSource
	void releaseReset(Pool pool) {
		Lease lease = request(pool).all().acquire(this.instance);
		this.proxy.swallowRepliesThenReset(KEY);
		orStoreTrouble(() -> assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED));
		assertCut();
		assertAllFree(pool);
	}

	@ParameterizedTest(
			name = "F6 the reply to RENEW lost by a reset: still held, with the store''s trouble or without ({0})")
	@EnumSource
	void renewReset(Pool pool) {
		Lease lease = request(pool).acquire(this.instance);
		this.proxy.swallowRepliesThenReset(KEY);
		orStoreTrouble(() -> lease.extend(Duration.ofMinutes(3)));
		assertCut();
		assertThat(lease.isHeld()).isTrue();
		assertThat(request(pool).all().tryAcquire(this.other)).isEmpty();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertAllFree(pool);
	}

}
