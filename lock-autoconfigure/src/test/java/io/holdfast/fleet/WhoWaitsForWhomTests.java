package io.holdfast.fleet;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.actuate.FleetDescriptor;
import io.holdfast.actuate.InstanceDescriptor;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.engine.fleet.Deadlock;
import io.holdfast.engine.fleet.Deadlock.Actor;
import io.holdfast.engine.fleet.Deadlock.ThreadWait;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Threads of several JVMs that wait for each other's locks, seen from one JVM.
 */
@WithRedis
@Slow
class WhoWaitsForWhomTests {

	private final Fleet fleet;

	private final LockService locks;

	private final LocksEndpoint endpoint;

	private final String own;

	WhoWaitsForWhomTests(TestRedis redis) {
		this.fleet = new Fleet(redis);
		this.locks = this.fleet.start();
		this.endpoint = new LocksEndpoint(this.fleet.engine(this.locks));
		this.own = io.holdfast.engine.fleet.Fleet.of(this.fleet.engine(this.locks)).instance();
	}

	private FleetDescriptor seen() {
		return this.endpoint.locks(null, null).fleet();
	}

	private String awaitOther() {
		await("both instances").atMost(Fleet.PATIENCE).until(() -> seen().instances().size() == 2);
		return seen().instances()
			.stream()
			.map(InstanceDescriptor::id)
			.filter((id) -> !id.equals(this.own))
			.findFirst()
			.orElseThrow();
	}

	private void acquireBoth(String first, CountDownLatch between, String second) {
		LockLease lease = this.locks.acquire(first);
		try {
			between.await();
			this.locks.acquire(LockRequest.of(second).waitTime(Duration.ofMinutes(2))).close();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		catch (LockNotAcquiredException ex) {
			assertThat(ex.getReason()).isEqualTo(Reason.INTERRUPTED);
		}
		finally {
			lease.release();
		}
	}

	@Test
	@DisplayName("A cycle over two JVMs is found, with keys, instances and threads, and ends when a thread gives up")
	void findsCycleOverTwoJvms() throws Exception {
		Worker worker = this.fleet.startWorker().awaitReady();
		String other = awaitOther();
		CountDownLatch between = new CountDownLatch(1);
		Thread buyer = new Thread(() -> acquireBoth("stock:1", between, "stock:2"), "buyer");
		buyer.start();
		await().until(() -> this.locks.status("stock:1").isLocked());
		worker.acquireBoth("seller", "stock:2", "stock:1");
		worker.awaitGranted("seller");
		await().until(() -> this.locks.status("stock:1").waiting() == 1);
		assertThat(seen().cycles()).isEmpty();
		between.countDown();
		await("a cycle").atMost(Fleet.PATIENCE).until(() -> !seen().cycles().isEmpty());
		assertThat(seen().cycles()).singleElement()
			.extracting(Deadlock::waits)
			.satisfies((waits) -> assertThat(waits).containsExactlyInAnyOrder(
					new ThreadWait(this.own, "buyer", "stock:2", new Actor(other, "seller")),
					new ThreadWait(other, "seller", "stock:1", new Actor(this.own, "buyer"))));
		buyer.interrupt();
		buyer.join();
		worker.awaitUsed("seller");
		await().until(() -> seen().silent().isEmpty());
		assertThat(seen().cycles()).isEmpty();
	}

}
