package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Redis is up, and cannot serve a request for a moment.
 */
@WithRedis
class ShortTroubleTests {

	private final Fleet fleet;

	private final Instance instance;

	ShortTroubleTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, redis.startServer());
		this.instance = this.fleet.start();
		this.instance.warmUp();
	}

	@ParameterizedTest
	@EnumSource(names = { "FULL_MEMORY", "DEMOTED_MASTER" })
	@DisplayName("A waiting request outlasts the trouble, a request without waiting fails at once")
	void requestThatWaits(Trouble trouble) {
		List<PoolRequest> requests = Stream.of(Pool.values())
			.map((pool) -> new PoolRequest(pool, pool.key("trouble")).waitTime(SOON))
			.toList();
		this.fleet.onServer(trouble::begin);
		requests.forEach((request) -> assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> request.tryAcquire(this.instance)));
		List<CompletableFuture<Lease>> waiting = requests.stream()
			.map((request) -> request.acquireInBackground(this.instance))
			.toList();
		await("waits that go on").during(Duration.ofMillis(500))
			.atMost(SOON)
			.until(() -> waiting.stream().noneMatch(CompletableFuture::isDone));
		this.fleet.onServer(trouble::end);
		for (CompletableFuture<Lease> one : waiting) {
			assertThat(one).succeedsWithin(SOON).satisfies((lease) -> assertThat(lease.isHeld()).isTrue());
			one.join().release();
		}
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Lasting trouble is thrown after the outage patience, long before the wait is over")
	void troubleThatStays() {
		Instance patient = this.fleet.start("holdfast.redis.outage-patience=500ms");
		this.fleet.onServer(Trouble.FULL_MEMORY::begin);
		long start = System.nanoTime();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> patient.acquire(LockRequest.of("trouble").waitTime(SOON.multipliedBy(6))))
			.withMessageContaining("out of memory");
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(500), SOON);
		this.fleet.onServer(Trouble.FULL_MEMORY::end);
		this.fleet.awaitNothingLeft();
	}

}
