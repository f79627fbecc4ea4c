package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisCluster.FailOver;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * One fail-over of each kind, for every build: what was written before is with the new
 * master. {@link FailOverTests} and {@link ClusterFailOverTests} have more of them.
 */
@WithRedis
class FailOverInShortTests {

	private static final String KEY = "short";

	/** Longer than a fail-over takes. */
	private static final Duration LEASE = Duration.ofSeconds(30);

	/** Asks again after 24 s at the earliest: what comes sooner, came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	private static RedisCluster cluster;

	private static RedisServer replica;

	/** Before the test of it, as a cluster takes some seconds to serve. */
	@BeforeAll
	static void startCluster(TestRedis redis) {
		cluster = redis.startCluster(1);
		replica = cluster.addReplica(cluster.nodes().get(0));
	}

	/** Held by one and waited for by the other while the master is replaced. */
	private static void assertKept(Fleet fleet, String key, Runnable replicate, Runnable replace) {
		Instance instance = fleet.start(ASK_SELDOM);
		Instance other = fleet.start(ASK_SELDOM);
		List.of(instance, other).forEach(Instance::awaitListening);
		LockRequest request = LockRequest.of(key).leaseTime(LEASE).waitTime(Duration.ofMinutes(1));
		LockLease lease = instance.acquire(request);
		CompletableFuture<LockLease> next = other.acquireInBackground(request);
		fleet.awaitQueued(key);
		replicate.run();
		replace.run();
		List.of(instance, other).forEach(Instance::awaitListening);
		assertThat(lease.isHeld()).isTrue();
		assertThat(next).isNotDone();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(next).succeedsWithin(SOON)
			.satisfies((granted) -> assertThat(granted.fencingToken()).isGreaterThan(lease.fencingToken()))
			.satisfies((granted) -> assertThat(granted.release()).isEqualTo(ReleaseResult.RELEASED));
		fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("The master dies, and Sentinel has its replica take over: held on, and handed over")
	void unplanned(TestRedis redis) {
		SentinelRedis servers = redis.startSentinel(1);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			assertKept(fleet, KEY, servers::awaitReplicated, () -> {
				RedisServer old = servers.master();
				old.kill();
				servers.watchClosely(Duration.ofMillis(500));
				servers.awaitFailOver(old);
				// The subscriptions are with the new master.
				fleet.awaitListening(2);
			});
		}
	}

	@Test
	@DisplayName("Sentinel is told to replace a master that lives: held on, and handed over")
	void planned(TestRedis redis) {
		SentinelRedis servers = redis.startSentinel(1);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			assertKept(fleet, KEY, servers::awaitReplicated, () -> {
				RedisServer old = servers.master();
				servers.failOver();
				// It was alive, and its clients are sent away.
				servers.awaitReplica(old);
				fleet.awaitListening(2);
			});
		}
	}

	@Test
	@DisplayName("A replica in a cluster takes the place of its master: held on, and handed over")
	void cluster(TestRedis redis) {
		RedisServer master = cluster.nodes().get(0);
		try (Fleet fleet = Fleet.on(redis, cluster)) {
			assertKept(fleet, KEY, () -> cluster.awaitReplicated(master, "{" + fleet.lockKey(KEY) + "}:replicated"),
					() -> cluster.failOver(master, replica, FailOver.FORCE));
		}
	}

}
