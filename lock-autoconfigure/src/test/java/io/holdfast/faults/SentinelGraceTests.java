package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

/**
 * A fail-over under Sentinel loses a lock, with a grace for holders.
 */
@WithRedis
@Slow
class SentinelGraceTests {

	private static final String KEY = "grace";

	/** Longer than a fail-over takes. */
	private static final Duration LEASE = Duration.ofSeconds(12);

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitForever();

	private final SentinelRedis redis;

	private final Fleet fleet;

	private final String serverKey;

	SentinelGraceTests(TestRedis redis) {
		this.redis = redis.startSentinel(1);
		this.fleet = Fleet.on(redis, this.redis);
		this.serverKey = TestApplication.fleetKey(redis.keyPrefix()) + ":server";
		this.fleet.observer().opsForValue().set(this.serverKey, this.redis.replicationId() + " 1");
	}

	private Instance start() {
		return this.fleet.start("holdfast.redis.fail-over-grace=true", "holdfast.redis.longest-lease=12s",
				"holdfast.lock.lease-time=12s", "holdfast.semaphore.lease-time=12s");
	}

	private CompletableFuture<LockLease> acquireInBackground() {
		return Instance.inBackground(() -> start().acquire(REQUEST));
	}

	@Test
	@DisplayName("F26 The new master lacks the lock: its holder keeps the lock, and waiters wait, also late waiters")
	void lockIsNotReplicated() {
		Instance holder = start();
		List<CompletableFuture<LockLease>> others = new ArrayList<>();
		this.redis.cutReplication();
		LockLease lease = holder.acquire(REQUEST);
		others.add(acquireInBackground());
		this.fleet.awaitQueued(KEY);
		RedisServer old = this.redis.master();
		old.kill();
		long killedAt = System.nanoTime();
		this.redis.failOver();
		// A sentinel without processor time drops the request, and is asked again when
		// the lease is over.
		assumeThat(Duration.ofNanos(System.nanoTime() - killedAt)).as("time of the fail-over")
			.isLessThan(LEASE.dividedBy(2));
		others.add(acquireInBackground());
		await("the grace to be over").atMost(LEASE.plus(SOON))
			.until(() -> FailOverGraceTests.isOver(this.fleet, this.serverKey, LEASE));
		lease.ensureHeld();
		assertThat(others).noneMatch(CompletableFuture::isDone);
		await("a renewal by the new master").atMost(SOON).until(() -> this.fleet.isLocked(KEY));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		LockLease next = (LockLease) CompletableFuture.anyOf(others.toArray(CompletableFuture[]::new)).join();
		assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
		assertThat(others).filteredOn(CompletableFuture::isDone).hasSize(1);
		assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(others).allSatisfy((other) -> assertThat(other).succeedsWithin(SOON));
	}

}
