package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisCluster.Move;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Slots of a cluster move from node to node, with holds and waits for their keys.
 */
@WithRedis
class MovingSlotTests {

	private static final String KEY = "moving";

	private static RedisCluster cluster;

	@AutoClose
	private final Fleet fleet;

	MovingSlotTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, cluster);
	}

	@BeforeAll
	static void start(TestRedis redis) {
		cluster = redis.startCluster(3);
	}

	/**
	 * Return the keys of the holders, of each kind: in slots of their own, perhaps on
	 * different nodes.
	 */
	private List<String> held() {
		return Stream.of(Pool.values()).map((pool) -> pool.holdersKey(this.fleet, pool.key(KEY))).toList();
	}

	private List<Move> begin() {
		return held().stream().map(cluster::move).toList();
	}

	private Instance start() {
		Instance instance = this.fleet.start();
		instance.awaitListening();
		return instance;
	}

	@Slow
	@Test
	@DisplayName("A slot moves with holders and waiters: leases are renewed, and handed over")
	void moved() {
		Instance instance = start();
		Instance other = start();
		Claims claims = new Claims(this.fleet, KEY, Duration.ofSeconds(4), instance).waitedForBy(other);
		for (int i = 0; i < 4; i++) {
			begin().forEach(Move::finish);
			claims.awaitRenewed();
			claims.assertHeld();
		}
		claims.assertHandedOver();
		begin().forEach(Move::finish);
		new Claims(this.fleet, KEY, Duration.ofMinutes(5), other).waitedForBy(instance).assertHandedOver();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A slot with some of its keys moved: holds and waits go on, a request without waiting fails, a"
			+ " waiting request is granted after the move")
	void moving() {
		Instance instance = start();
		Instance other = start();
		Claims claims = new Claims(this.fleet, KEY, Duration.ofMinutes(1), instance).waitedForBy(other);
		List<Move> moves = begin();
		for (int i = 0; i < moves.size(); i++) {
			moves.get(i).keys(held().subList(i, i + 1));
		}
		String sameSlot = "{" + this.fleet.lockKey(KEY) + "}:another";
		LockRequest request = LockRequest.of(sameSlot);
		CompletableFuture<LockLease> patient = other.acquireInBackground(request.waitTime(Duration.ofMinutes(2)));
		for (Duration wait : List.of(Duration.ZERO, Duration.ofSeconds(1))) {
			assertThatExceptionOfType(LeaseStoreException.class)
				.isThrownBy(() -> instance.acquire(request.waitTime(wait)))
				.withMessageContaining("TRYAGAIN");
		}
		assertThat(patient).isNotDone();
		claims.assertHeld();
		claims.assertReleaseRefused();
		moves.forEach(Move::finish);
		claims.assertGranted();
		assertThat(patient).succeedsWithin(SOON).satisfies(LockLease::close);
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("A slot with some of its keys moved: all leases in the slot are renewed")
	void movingWithSeveralLeases() {
		Instance instance = start();
		Duration leaseTime = Duration.ofSeconds(4);
		List<String> keys = IntStream.range(0, 10).mapToObj((i) -> "{" + KEY + "}" + i).toList();
		List<LockLease> leases = keys.stream()
			.map((key) -> instance.acquire(LockRequest.of(key).leaseTime(leaseTime)))
			.toList();
		Move move = cluster.move(this.fleet.lockKey(keys.get(0)))
			.keys(keys.stream().limit(5).map(this.fleet::lockKey).toList());
		await("the end of leases without renewal").pollDelay(leaseTime).until(() -> true);
		assertThat(leases).allMatch(LockLease::isHeld);
		move.finish();
		assertThat(leases).allMatch((lease) -> lease.release() == ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A slot moves under a lease: after a close, an immediate request of the same instance is granted")
	void movedBeforeRelease() {
		Instance instance = start();
		for (int i = 0; i < 10; i++) {
			String key = KEY + i;
			LockLease lease = instance.acquire(key);
			cluster.move(this.fleet.lockKey(key)).finish();
			lease.close();
			assertThat(instance.tryAcquire(key)).as(key).hasValueSatisfying(LockLease::close);
		}
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A slot moves while the driver follows no redirections: its lease is kept, and handed over")
	void movedWithoutRedirections() {
		Instance instance = this.fleet.start("spring.data.redis.cluster.max-redirects=0",
				"holdfast.redis.outage-patience=60s");
		LockRequest request = LockRequest.of(KEY).waitTime(Duration.ofMinutes(1)).leaseTime(Duration.ofMinutes(1));
		LockLease lease = instance.acquire(request);
		CompletableFuture<LockLease> next = instance.acquireInBackground(request);
		cluster.move(this.fleet.lockKey(KEY)).finish();
		lease.close();
		assertThat(next).succeedsWithin(SOON).satisfies(LockLease::close);
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("Slots that move continually under load: no lock is held twice, and every request is served")
	void movingUnderLoad() {
		Load load = new Load(KEY, (ex) -> false, start(), start());
		for (int i = 0; i < 10; i++) {
			load.awaitMoreAfter(() -> begin().forEach(Move::finish));
		}
		load.end();
		this.fleet.awaitNothingLeft();
	}

}
