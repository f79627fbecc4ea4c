package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Order;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * An application shuts down while permits are held and waited for, or locks are held to
 * read and to write. All leases last for ten minutes, so what comes back was released.
 */
@Slow
class PermitShutDownTests extends FaultTestCase {

	private static final String KEY = "shut-down";

	private static final Duration LEASE = Duration.ofMinutes(10);

	private static final SemaphoreRequest ONE = SemaphoreRequest.of(KEY, 2).waitForever().leaseTime(LEASE);

	private static final LockRequest READ = LockRequest.of(KEY).mode(LockMode.READ).waitForever().leaseTime(LEASE);

	private static final LockRequest WRITE = READ.mode(LockMode.EXCLUSIVE);

	/** Nothing is released here: the patience is only in the way. */
	private static final String SHORT_PATIENCE = "spring.lifecycle.timeout-per-shutdown-phase=2s";

	private Instance instance;

	private Instance other;

	@BeforeEach
	void start() {
		this.instance = this.fleet.start(SHORT_PATIENCE);
		this.other = this.fleet.start();
		this.fleet.awaitListening(2);
	}

	private static void assertToldOfShutDown(CompletableFuture<? extends Lease> waiting) {
		assertThat(waiting).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOfSatisfying(NotAcquiredException.class,
					(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
	}

	@Test
	@DisplayName("Permits that are held when the context closes are released, and passed on to who waits")
	void permitsHeld() {
		PermitLease lease = this.instance.acquire(ONE.permits(2));
		CompletableFuture<PermitLease> waiting = this.other.acquireInBackground(ONE.permits(2));
		this.fleet.awaitLength(this.fleet.semaphoreKey(KEY, "queue"), 1);
		this.instance.close();
		assertThat(lease.isHeld()).isFalse();
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			// Late, and without a store.
			lease.close();
			assertThat(this.other.semaphores().status(KEY).used()).isEqualTo(2);
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		this.fleet.awaitNothingLeft();
	}

	@ParameterizedTest(
			name = "Who waits for permits when the context closes is told, and leaves the queue to others ({0})")
	@EnumSource
	void permitsWaitedFor(Order order) {
		Instance closing = this.fleet
			.start(Stream.concat(Stream.of(SHORT_PATIENCE), Stream.of(order.properties())).toArray(String[]::new));
		this.fleet.awaitListening(3);
		SemaphoreService semaphores = closing.semaphores();
		PermitLease held = this.other.acquire(ONE);
		CompletableFuture<PermitLease> waiting = closing.acquireInBackground(ONE.permits(2));
		this.fleet.awaitLength(this.fleet.semaphoreKey(KEY, "queue"), 1);
		CompletableFuture<PermitLease> async = semaphores.acquireAsync(ONE.permits(2));
		// Who asks for the same as another one of its instance follows that one, if it
		// may.
		this.fleet.awaitLength(this.fleet.semaphoreKey(KEY, "queue"), (order == Order.STRICT) ? 2 : 1);
		closing.close();
		assertToldOfShutDown(waiting);
		assertToldOfShutDown(async);
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(() -> semaphores.acquire(ONE))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
		// Would not be granted behind the one that is gone.
		PermitLease next = this.other.acquire(ONE);
		assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A lock that is held to write when the context closes is released, and passed on to readers")
	void writerHolds() {
		LockLease lease = this.instance.acquire(WRITE);
		CompletableFuture<LockLease> waiting = this.other.acquireInBackground(READ);
		this.fleet.awaitLength(this.fleet.queueKey(KEY), 1);
		this.instance.close();
		assertThat(lease.isHeld()).isFalse();
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A lock that many hold to read when their context closes is released, and passed on to a writer")
	void readersHold() throws Exception {
		LockLease lease = this.instance.acquire(READ);
		LockLease second = this.instance.acquireInBackground(READ).get();
		CompletableFuture<LockLease> waiting = this.other.acquireInBackground(WRITE);
		this.fleet.awaitLength(this.fleet.queueKey(KEY), 1);
		this.instance.close();
		assertThat(lease.isHeld()).isFalse();
		assertThat(second.isHeld()).isFalse();
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Who waits to read or write when the context closes is told, and leaves the queue to others")
	void readersAndWritersWait() {
		LockLease held = this.other.acquire(READ);
		CompletableFuture<LockLease> writer = this.instance.acquireInBackground(WRITE);
		this.fleet.awaitLength(this.fleet.queueKey(KEY), 1);
		CompletableFuture<LockLease> reader = this.instance.acquireInBackground(READ);
		CompletableFuture<LockLease> behind = this.fleet.start().acquireInBackground(READ);
		this.fleet.awaitLength(this.fleet.queueKey(KEY), 3);
		this.instance.close();
		assertToldOfShutDown(writer);
		assertToldOfShutDown(reader);
		assertThat(behind).as("a reader beside the reader, as no writer is before it now")
			.succeedsWithin(SOON)
			.satisfies(LockLease::release);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

}
