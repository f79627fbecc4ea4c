package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Jobs that end at once, and exclude other instances for a least time all the same.
 */
@WithRedis
@Slow
class MinHoldTests {

	private static final Duration MIN_HOLD = Duration.ofSeconds(2);

	/** Redis counts milliseconds by its own clock. */
	private static final Duration CLOCK = Duration.ofMillis(20);

	private final Fleet fleet;

	private LockService first;

	private LockService second;

	MinHoldTests(TestRedis redis) {
		this.fleet = new Fleet(redis);
	}

	@BeforeEach
	void start() {
		this.first = this.fleet.start();
		this.second = this.fleet.start();
	}

	@AfterEach
	void nothingIsLeft() {
		this.fleet.awaitNothingLeft();
	}

	@ParameterizedTest(name = "Other requests are refused until the least time has passed, and no longer: {0}")
	@EnumSource
	void keepsOthersOut(LockMode mode) {
		LockRequest job = LockRequest.of("job").mode(mode);
		long from = System.nanoTime();
		LockLease lease = this.first.acquire(job.minHold(MIN_HOLD));
		long granted = System.nanoTime();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(since(from)).as("the caller does not wait").isLessThan(MIN_HOLD);
		assertThat(this.second.tryAcquire("job")).isEmpty();
		assertThat(this.first.tryAcquire("job")).as("same instance").isEmpty();
		assertThat(this.first.status("job").remaining()).isBetween(Duration.ZERO, MIN_HOLD);
		LockRequest next = LockRequest.of("job").mode((mode == LockMode.READ) ? LockMode.EXCLUSIVE : mode);
		try (LockLease other = this.second.acquire(next.waitTime(Fleet.PATIENCE))) {
			assertThat(since(from)).isGreaterThan(MIN_HOLD.minus(CLOCK));
			assertThat(since(granted)).isLessThan(MIN_HOLD.plus(Fleet.PROMPT));
			assertThat(other.fencingToken()).isGreaterThan(lease.fencingToken());
		}
	}

	@Test
	@DisplayName("The key in Redis lives for the least time, with a longer or a shorter lease")
	void timeToLive() {
		this.first.acquire(LockRequest.of("long").leaseTime(Duration.ofMinutes(5)).minHold(MIN_HOLD)).release();
		assertThat(Duration.ofMillis(this.fleet.ttl("long"))).isBetween(MIN_HOLD.dividedBy(4), MIN_HOLD);
		this.first.acquire(LockRequest.of("short").leaseTime(Duration.ofMillis(200)).minHold(MIN_HOLD)).release();
		assertThat(Duration.ofMillis(this.fleet.ttl("short"))).isBetween(MIN_HOLD.dividedBy(4), MIN_HOLD);
		await("the end of all").atMost(MIN_HOLD.plus(Fleet.PROMPT)).until(() -> this.fleet.ttl("short") == -2);
	}

	@Test
	@DisplayName("The key of a killed holder lives until the least time has passed, and no longer")
	void killedInThatTime() {
		Worker worker = this.fleet.startWorker().awaitReady();
		Duration minHold = Duration.ofSeconds(4);
		long from = System.nanoTime();
		worker.acquire("job", LockRequest.of("job").leaseTime(Duration.ofMinutes(5)).minHold(minHold));
		long granted = worker.awaitGranted("job").at();
		assertThat(worker.release("job")).isEqualTo(ReleaseResult.RELEASED);
		worker.kill();
		assertThat(this.first.tryAcquire("job")).isEmpty();
		try (LockLease next = this.first.acquire(LockRequest.of("job").waitTime(Fleet.PATIENCE))) {
			assertThat(since(from)).isGreaterThan(minHold.minus(CLOCK));
			assertThat(since(granted)).isLessThan(minHold.plus(Fleet.PROMPT));
			next.ensureHeld();
		}
	}

	@Test
	@DisplayName("An instance stops without waiting for the least time, and its keys stay")
	void stoppedInThatTime() {
		Duration minHold = Duration.ofSeconds(5);
		long from = System.nanoTime();
		this.first.acquire(LockRequest.of("released").minHold(minHold)).close();
		LockLease held = this.first.acquire(LockRequest.of("held").minHold(minHold));
		this.fleet.stop(this.first);
		assertThat(held.isHeld()).isFalse();
		held.close();
		assertThat(since(from)).isLessThan(minHold);
		for (String key : List.of("released", "held")) {
			assertThat(this.second.tryAcquire(key)).as(key).isEmpty();
		}
		for (String key : List.of("released", "held")) {
			this.second.acquire(LockRequest.of(key).waitTime(Fleet.PATIENCE)).close();
			assertThat(since(from)).as(key).isBetween(minHold.minus(CLOCK), minHold.plus(Fleet.PROMPT.multipliedBy(2)));
		}
	}

	private static Duration since(long nanos) {
		return Duration.ofNanos(System.nanoTime() - nanos);
	}

}
