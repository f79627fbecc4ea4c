package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Redis executes a command, and the reply is lost. The proxy waits for a request with the
 * key, so that the test's next request is hit.
 */
@ParameterizedClass
@EnumSource
class LostReplyTests extends ProxiedTestCase {

	private static final String KEY = "lost-reply";

	private final Pool pool;

	private final PoolRequest request;

	/** Behind the proxy. */
	private Instance instance;

	private Instance other;

	LostReplyTests(Pool pool) {
		this.pool = pool;
		this.request = new PoolRequest(pool, KEY).waitTime(SOON);
	}

	@BeforeEach
	void start() {
		this.instance = this.fleet.start(this.proxy);
		this.other = this.fleet.start();
		this.fleet.awaitListening(2);
		this.request.warmUp(this.instance);
	}

	private void assertCut() {
		assertThat(this.proxy.cuts()).as("replies lost").isOne();
	}

	private void assertAllFree() {
		this.pool.assertAllFree(this.fleet, KEY, this.other, this.instance);
	}

	private static void assertNewer(Lease next, Lease before) {
		if (next instanceof LockLease lock) {
			assertThat(lock.fencingToken()).isGreaterThan(((LockLease) before).fencingToken());
		}
	}

	/** Run an action that may also fail, with the key. */
	private static void orStoreTrouble(Runnable action) {
		try {
			action.run();
		}
		catch (LeaseStoreException ex) {
			assertThat(ex.getKey()).isEqualTo(KEY);
		}
	}

	@Test
	@DisplayName("F5 The reply to RELEASE is lost, and the command repeated: one release, and the next owner is left"
			+ " alone")
	void releaseRepeated() {
		Lease lease = this.request.acquire(this.instance);
		List<Lease> rest = this.request.acquireRest(this.other);
		CompletableFuture<Lease> waiting = this.request.all().acquireInBackground(this.other);
		this.pool.awaitQueued(this.fleet, KEY, 1);
		this.proxy.swallowRepliesThenFin(KEY);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertCut();
		for (Lease one : rest) {
			assertThat(waiting).isNotDone();
			assertThat(this.pool.holders(this.fleet, KEY)).isEqualTo(rest.size() - rest.indexOf(one));
			assertThat(one.release()).isEqualTo(ReleaseResult.RELEASED);
		}
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			assertThat(this.request.tryAcquire(this.instance)).isEmpty();
			next.extend(Duration.ofMinutes(2));
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		assertAllFree();
	}

	@Test
	@DisplayName("F5 The reply to RELEASE is lost, and not awaited: the next request of the instance is granted")
	void releaseRepeatedBeforeTheNextRequest() {
		Lease lease = this.request.all().acquire(this.instance);
		this.proxy.swallowRepliesThenFin(KEY);
		lease.close();
		assertThat(this.request.all().tryAcquire(this.instance)).hasValueSatisfying((next) -> {
			assertNewer(next, lease);
			next.close();
		});
		assertCut();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F6 The reply to ACQUIRE is lost by a reset: held, or the store's trouble and cleaned up")
	void acquireReset() {
		this.proxy.swallowRepliesThenReset(KEY);
		orStoreTrouble(() -> {
			try (Lease lease = this.request.acquire(this.instance)) {
				assertThat(this.request.all().tryAcquire(this.other)).isEmpty();
				assertThat(this.pool.holders(this.fleet, KEY)).isOne();
				assertThat(lease.isHeld()).isTrue();
			}
		});
		assertCut();
		assertAllFree();
	}

}
