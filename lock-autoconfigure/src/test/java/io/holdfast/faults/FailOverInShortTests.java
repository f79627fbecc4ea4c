package io.holdfast.faults;

import java.time.Duration;
import java.util.List;

import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisCluster.FailOver;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * A fail-over of each kind, for every build, without lost writes.
 * {@link LostWritesTests}, {@link SplitBrainTests} and {@link ClusterFailOverTests} have
 * further fail-overs.
 */
@WithRedis
class FailOverInShortTests {

	private static final String KEY = "short";

	/** Longer than a fail-over takes. */
	private static final Duration LEASE = Duration.ofSeconds(30);

	/** Polls after 24 s at the earliest: an earlier grant came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	private static RedisCluster cluster;

	private static RedisServer replica;

	/** Start the cluster before its test, since it takes some seconds to serve. */
	@BeforeAll
	static void startCluster(TestRedis redis) {
		cluster = redis.startCluster(1);
		replica = cluster.addReplica(cluster.nodes().get(0));
	}

	/**
	 * Check leases of each kind with a holder and a waiter while the master is replaced.
	 */
	private static void assertKept(Fleet fleet, Runnable replicate, Runnable replace) {
		Instance instance = fleet.start(ASK_SELDOM);
		Instance other = fleet.start(ASK_SELDOM);
		List.of(instance, other).forEach(Instance::awaitListening);
		Claims claims = new Claims(fleet, KEY, LEASE, instance).waitedForBy(other);
		replicate.run();
		replace.run();
		List.of(instance, other).forEach(Instance::awaitListening);
		claims.assertHeld();
		claims.assertHandedOver();
		fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("The master dies, and Sentinel has its replica take over: leases are held on, and handed over")
	void unplanned(TestRedis redis) {
		SentinelRedis servers = redis.startSentinel(1);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			assertKept(fleet, servers::awaitReplicated, () -> {
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
	@DisplayName("Sentinel is told to replace a live master: leases are held on, and handed over")
	void planned(TestRedis redis) {
		SentinelRedis servers = redis.startSentinel(1);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			assertKept(fleet, servers::awaitReplicated, () -> {
				RedisServer old = servers.master();
				servers.failOver();
				// The old master was alive, and sends its clients away.
				servers.awaitReplica(old);
				fleet.awaitListening(2);
			});
		}
	}

	@Test
	@DisplayName("A replica in a cluster takes the place of its master: leases are held on, and handed over")
	void cluster(TestRedis redis) {
		RedisServer master = cluster.nodes().get(0);
		try (Fleet fleet = Fleet.on(redis, cluster)) {
			assertKept(fleet, () -> cluster.awaitReplicated(master, "{" + fleet.lockKey(KEY) + "}:replicated"),
					() -> cluster.failOver(master, replica, FailOver.FORCE));
		}
	}

}
