package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisCluster.FailOver;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.api.sync.RedisServerCommands;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

/**
 * A master of a cluster dies, or is replaced by hand, and its replica, with all writes,
 * takes over.
 */
@WithRedis
@Slow
class ClusterFailOverTests {

	/** Longer than a fail-over and the driver's search for the new master. */
	private static final Duration LEASE = Duration.ofSeconds(30);

	private final RedisCluster cluster;

	private final RedisServer master;

	private final RedisServer replica;

	private final Fleet fleet;

	private final String key;

	ClusterFailOverTests(TestRedis redis) {
		this.cluster = redis.startCluster(3);
		this.master = this.cluster.nodes().get(0);
		this.replica = this.cluster.addReplica(this.master);
		this.fleet = Fleet.on(redis, this.cluster);
		this.key = IntStream.iterate(0, (i) -> i + 1)
			.mapToObj((i) -> "key" + i)
			.filter(this::isMasters)
			.findFirst()
			.orElseThrow();
	}

	/** Return whether the master has all claims of the key. */
	private boolean isMasters(String key) {
		return Stream.of(Pool.values())
			.map((pool) -> pool.holdersKey(this.fleet, pool.key(key)))
			.allMatch((name) -> this.cluster.nodeOf(name) == this.master);
	}

	private Instance start(String driver, String... properties) {
		Instance instance = this.fleet
			.start(Stream.concat(Stream.of("spring.data.redis.client-type=" + driver), Stream.of(properties))
				.toArray(String[]::new));
		instance.awaitListening();
		return instance;
	}

	/** By the new master, which the driver has to find first. */
	private void awaitServed(Instance instance) {
		awaitServed(instance, LEASE);
	}

	private void awaitServed(Instance instance, Duration patience) {
		LockRequest sameSlot = LockRequest.of("{" + this.fleet.lockKey(this.key) + "}:another")
			.waitTime(Duration.ofSeconds(1));
		await("the new master found").atMost(patience)
			.ignoreExceptionsInstanceOf(LeaseStoreException.class)
			.until(() -> instance.locks().tryAcquire(sameSlot).map((lease) -> {
				lease.close();
				return true;
			}).isPresent());
	}

	private void awaitReplicated(RedisServer from) {
		this.cluster.awaitReplicated(from, "{" + this.fleet.lockKey(this.key) + "}:replicated");
	}

	@ParameterizedTest(name = "A master dies: nothing is lost, no instance restarts ({0})")
	@ValueSource(strings = { "lettuce", "jedis" })
	void masterDies(String driver) {
		Instance instance = start(driver);
		Instance other = start(driver);
		Claims claims = new Claims(this.fleet, this.key, LEASE, instance).waitedForBy(other);
		awaitReplicated(this.master);
		this.fleet.unobserved(() -> this.cluster.kill(this.master, this.replica));
		awaitServed(instance);
		awaitServed(other);
		claims.awaitRenewed();
		claims.assertHeld();
		List.of(instance, other).forEach(Instance::awaitListening);
		claims.assertHandedOver();
		this.cluster.restart(this.master);
		new Claims(this.fleet, this.key, LEASE, other).waitedForBy(instance).assertHandedOver();
		// A release on its way to the dead master ends with its lease.
		this.fleet.awaitNothingLeft(LEASE.plus(SOON));
	}

	@ParameterizedTest(
			name = "A master comes back after waiters gave up their commands to it: these commands do nothing ({0})")
	@ValueSource(strings = { "lettuce", "jedis" })
	void givenUp(String driver) {
		assumeFalse(this.master.run((commands) -> commands.info("server")).contains("redis_version:6."),
				"waiters ask a dead master while their subscription there is broken: there is one from Redis 7.0 on");
		// Their possible grants are released after the lease, not before.
		Instance instance = start(driver, "holdfast.wake-up.handoff-timeout=60s");
		Instance other = start(driver, "holdfast.wake-up.handoff-timeout=60s");
		Claims claims = new Claims(this.fleet, this.key, LEASE, instance).waitedForBy(other);
		awaitReplicated(this.master);
		this.fleet.unobserved(() -> this.cluster.kill(this.master, this.replica));
		awaitServed(instance);
		awaitServed(other);
		List.of(instance, other).forEach(Instance::awaitListening);
		claims.assertHandedOver();
		instance.close();
		this.cluster.restart(this.master);
		await("what the driver has kept for the master").atMost(LEASE)
			.until(() -> this.master.run(RedisServerCommands::clientList).contains("cmd=evalsha"));
		await("nothing is left, nor comes").during(Duration.ofSeconds(1))
			.atMost(SOON)
			.until(this.fleet::keysBesidesFences, List::isEmpty);
	}

	@Test
	@DisplayName("A master freezes, and stays frozen after the fail-over: its leases are held at the replica, and new"
			+ " leases granted")
	void masterStandsStill() {
		Instance instance = start("lettuce");
		Instance other = start("lettuce");
		LockRequest request = LockRequest.of(this.key).leaseTime(LEASE.multipliedBy(4));
		LockLease lease = instance.acquire(request);
		awaitReplicated(this.master);
		this.fleet.unobserved(() -> this.cluster.freeze(this.master, this.replica));
		// Until the silence is noticed, and the driver has tried to connect several
		// times.
		awaitServed(instance, LEASE.multipliedBy(3));
		awaitServed(other, LEASE.multipliedBy(3));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(other.acquire(request).release()).isEqualTo(ReleaseResult.RELEASED);
		this.cluster.thaw(this.master);
	}

	@Test
	@DisplayName("Master and replica change their roles by hand three times: leases are held on, and handed over")
	void replacedByHand() {
		Instance instance = start("lettuce");
		Instance other = start("lettuce");
		RedisServer from = this.master;
		RedisServer to = this.replica;
		for (FailOver how : FailOver.values()) {
			Claims claims = new Claims(this.fleet, this.key, Duration.ofSeconds(9), instance).waitedForBy(other);
			awaitReplicated(from);
			this.cluster.failOver(from, to, how);
			claims.awaitRenewed();
			claims.assertHeld();
			claims.assertHandedOver();
			RedisServer before = from;
			from = to;
			to = before;
		}
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A master is replaced by hand under load: no lock is held twice, and every request is served")
	void replacedUnderLoad() {
		// The remaining nodes hear of the leaving master and of the new master at
		// different times.
		Predicate<LeaseStoreException> unknown = (ex) -> String.valueOf(ex.getMessage()).contains("slot not served");
		Load load = new Load(this.key, unknown, start("lettuce"), start("lettuce"));
		load.awaitMoreAfter(() -> this.cluster.failOver(this.master, this.replica, FailOver.AGREED));
		load.awaitMoreAfter(() -> this.cluster.failOver(this.replica, this.master, FailOver.AGREED));
		load.end();
		this.fleet.awaitNothingLeft();
	}

}
