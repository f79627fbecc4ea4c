package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.SemaphoreFigures;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Permits that several contexts share: their grants and renewal.
 */
class PermitTests extends FleetTestCase {

	/** For an answer without waiting, on a busy machine. */
	private static final Duration AT_ONCE = Duration.ofSeconds(5);

	private static SemaphoreService first;

	private static SemaphoreService second;

	@BeforeAll
	static void start() {
		List<SemaphoreService> contexts = fleet.startSemaphores(2);
		first = contexts.get(0);
		second = contexts.get(1);
	}

	@Test
	@DisplayName("S10 A full semaphore fails at once by default; the limit counts over all contexts")
	void full() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 3);
		List<PermitLease> leases = new ArrayList<>();
		for (SemaphoreService semaphores : List.of(first, second, first)) {
			leases.add(semaphores.acquire(request));
		}
		assertThat(SemaphoreFigures.of(second.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 3, false, 3, 3, 0));
		for (SemaphoreService semaphores : List.of(first, second)) {
			long from = System.nanoTime();
			assertThat(semaphores.tryAcquire(request)).isEmpty();
			assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(() -> semaphores.acquire(request))
				.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT));
			assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(AT_ONCE);
		}
		assertThat(first.status(this.key).waiting()).as("waiters after the failures").isZero();
		leases.get(0).release();
		assertThat(first.status(this.key).free()).isEqualTo(1);
		leases.set(0, second.acquire(request));
		assertThat(first.tryAcquire(request)).isEmpty();
		leases.forEach(PermitLease::close);
	}

	@Test
	@DisplayName("S12 Permits are renewed while they are held: after two leases no other request has got them")
	void renewed() {
		// Long enough that a busy machine renews the lease in time.
		Duration leaseTime = Duration.ofSeconds(2);
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 2).permits(2).leaseTime(leaseTime);
		PermitLease lease = first.acquire(request);
		await("use for 2 leases").atMost(Fleet.PATIENCE)
			.pollInterval(Duration.ofMillis(20))
			.until(elapsed(leaseTime.multipliedBy(2)), (over) -> {
				assertThat(second.tryAcquire(request.permits(1))).isEmpty();
				lease.ensureHeld();
				return over;
			});
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
	}

	private static Callable<Boolean> elapsed(Duration time) {
		long from = System.nanoTime();
		return () -> System.nanoTime() - from > time.toNanos();
	}

}
