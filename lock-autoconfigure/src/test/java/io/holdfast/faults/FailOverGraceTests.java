package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.data.redis.core.script.RedisScript;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Redis is restarted without its data, with a grace for holders: no other owner gets a
 * resource that a holder may still hold.
 */
@WithRedis
@Slow
class FailOverGraceTests {

	private static final String KEY = "grace";

	private static final Duration LEASE = Duration.ofSeconds(4);

	private static final RedisScript<Boolean> IS_OVER = RedisScript.of("""
			local time = redis.call('TIME')
			local since = string.match(redis.call('GET', KEYS[1]) or '', ' (%d+)$')
			return since and since + ARGV[1] * 1000 < time[1] * 1000000 + time[2]
			""", Boolean.class);

	private final RedisServer server;

	private final Fleet fleet;

	private final String serverKey;

	FailOverGraceTests(TestRedis redis) {
		this.server = redis.startServer();
		this.fleet = Fleet.on(redis, this.server);
		this.serverKey = TestApplication.fleetKey(redis.keyPrefix()) + ":server";
		this.fleet.onServer((connection) -> this.fleet.observer()
			.opsForValue()
			.set(this.serverKey,
					Objects.requireNonNull(connection.serverCommands().info("replication")).getProperty("master_replid")
							+ " 1"));
	}

	private static String[] properties() {
		return new String[] { "holdfast.redis.fail-over-grace=true", "holdfast.redis.longest-lease=4s",
				"holdfast.lock.lease-time=4s", "holdfast.semaphore.lease-time=4s" };
	}

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).all().leaseTime(LEASE).waitTime(Duration.ofMinutes(1));
	}

	private void awaitGraceIsOver() {
		await("the grace is over").atMost(LEASE.plus(SOON)).until(() -> isOver(this.fleet, this.serverKey, LEASE));
	}

	static boolean isOver(Fleet fleet, String serverKey, Duration longestLease) {
		return Boolean.TRUE
			.equals(fleet.observer().execute(IS_OVER, List.of(serverKey), String.valueOf(longestLease.toMillis())));
	}

	@ParameterizedTest
	@EnumSource(names = { "LOCK", "SEMAPHORE" })
	@DisplayName("F14 A live holder keeps its lease, and waiters wait for it, also a late waiter")
	void holderLives(Pool pool) {
		Lease lease = request(pool).acquire(this.fleet.start(properties()));
		List<CompletableFuture<Lease>> others = new ArrayList<>();
		others.add(Instance.inBackground(() -> request(pool).acquire(this.fleet.start(properties()))));
		pool.awaitQueued(this.fleet, KEY, 1);
		this.server.restart();
		others.add(Instance.inBackground(() -> request(pool).acquire(this.fleet.start(properties()))));
		awaitGraceIsOver();
		lease.ensureHeld();
		assertThat(others).noneMatch(CompletableFuture::isDone);
		await("a renewal by the empty server").atMost(SOON).until(() -> pool.holders(this.fleet, KEY) > 0);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		Lease next = (Lease) CompletableFuture.anyOf(others.toArray(CompletableFuture[]::new))
			.orTimeout(60, TimeUnit.SECONDS)
			.join();
		assertThat(others).filteredOn(CompletableFuture::isDone).hasSize(1);
		assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(others).allSatisfy((other) -> assertThat(other).succeedsWithin(SOON));
	}

	@ParameterizedTest
	@EnumSource(names = { "LOCK", "SEMAPHORE" })
	@DisplayName("F14 A holder without Redis has lost its lease before the next grant")
	void holderIsCutOff(Pool pool) {
		FaultProxy proxy = this.fleet.proxy();
		Lease lease = request(pool).acquire(this.fleet.start(proxy, properties()));
		CompletableFuture<Long> lost = new CompletableFuture<>();
		lease.onLost(() -> lost.complete(System.nanoTime()));
		CompletableFuture<Long> granted = Instance
			.inBackground(() -> request(pool).acquire(this.fleet.start(properties())))
			.thenApply((next) -> System.nanoTime());
		pool.awaitQueued(this.fleet, KEY, 1);
		proxy.blackHole();
		this.server.restart();
		assertThat(granted).succeedsWithin(LEASE.plus(SOON));
		assertThat(lost).isCompleted();
		assertThat(granted.join() - lost.join()).isPositive();
	}

}
