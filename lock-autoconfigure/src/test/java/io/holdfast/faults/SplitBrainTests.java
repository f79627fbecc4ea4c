package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
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

/**
 * A frozen master is replaced. Then it goes on, and answers its remaining clients.
 */
@WithRedis
@Slow
class SplitBrainTests {

	private static final String KEY = "split-brain";

	private static final String[] MIN_REPLICAS_TO_WRITE = { "--min-replicas-to-write", "1", "--min-replicas-max-lag",
			"3" };

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(Duration.ofMinutes(2)).reentrant(false);

	private static long fenceOf(Instance instance, String key) {
		try (LockLease lease = instance.acquire(LockRequest.of(key).waitTime(SOON))) {
			return lease.fencingToken();
		}
	}

	@Test
	@DisplayName("With the recommended settings no request gets from the old master a lock that has an owner at the"
			+ " new master")
	void recommended(TestRedis redis) {
		SentinelRedis servers = redis.startSentinel(2, MIN_REPLICAS_TO_WRITE);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			String[] settings = settings(redis, servers, fleet, 1);
			Instance holder = fleet.start(settings);
			Instance waiter = fleet.start(settings);
			fleet.awaitListening(2);
			LockLease first = holder.acquire(REQUEST);
			CompletableFuture<Long> lost = new CompletableFuture<>();
			first.onLost(() -> lost.complete(System.nanoTime()));
			CompletableFuture<LockLease> waiting = waiter.acquireInBackground(REQUEST);
			fleet.awaitQueued(KEY);

			RedisServer old = replaceFrozen(servers);
			LockLease second = fleet.start(settings).acquire(REQUEST);
			long granted = System.nanoTime();
			assertThat(lost).isCompleted();
			assertThat(granted - lost.join()).isPositive();
			assertThat(second.fencingToken()).isGreaterThan(first.fencingToken());

			old.thaw();
			assertNotGranted(holder);
			assertThat(second.isHeld()).isTrue();
			assertThat(waiting).isNotDone();
			servers.demote(old);
			assertThat(second.isHeld()).isTrue();
			assertThat(waiting).isNotDone();
			assertThat(second.release()).isEqualTo(ReleaseResult.RELEASED);
			assertGrantedAfter(second, waiting);
		}
	}

	@Test
	@DisplayName("With confirmation by both replicas neither master grants a lease, until the old master is a replica")
	void allReplicas(TestRedis redis) {
		SentinelRedis servers = redis.startSentinel(2, MIN_REPLICAS_TO_WRITE);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			String[] settings = settings(redis, servers, fleet, 2);
			Instance holder = fleet.start(settings);
			fleet.awaitListening(1);
			LockLease first = holder.acquire(REQUEST);
			CompletableFuture<Boolean> lost = new CompletableFuture<>();
			first.onLost(() -> lost.complete(true));

			RedisServer old = replaceFrozen(servers);
			Instance other = fleet.start(settings);
			CompletableFuture<LockLease> second = other.acquireInBackground(REQUEST);
			assertThat(lost).succeedsWithin(SOON);
			assertRefused(other, "only 1 of its replicas");
			old.thaw();
			assertNotGranted(holder);
			assertRefused(other, "only 1 of its replicas");
			assertThat(second).isNotDone();
			servers.demote(old);
			assertGrantedAfter(first, second);
			assertThat(holder.acquire(REQUEST).release()).isEqualTo(ReleaseResult.RELEASED);
		}
	}

	private static String[] settings(TestRedis redis, SentinelRedis servers, Fleet fleet, int minReplicas) {
		// Avoids a grace at the start.
		fleet.observer()
			.opsForValue()
			.set(TestApplication.fleetKey(redis.keyPrefix()) + ":server", servers.replicationId() + " 1");
		return new String[] { "holdfast.redis.fail-over-grace=true", "holdfast.redis.longest-lease=4s",
				"holdfast.lock.lease-time=4s", "holdfast.semaphore.lease-time=4s",
				"holdfast.redis.min-replicas=" + minReplicas };
	}

	/** Freeze the master until another master has taken over, and has a replica. */
	private static RedisServer replaceFrozen(SentinelRedis servers) {
		servers.awaitReplicated();
		RedisServer old = servers.master();
		servers.leaveOldMaster();
		old.freeze();
		// Longer than any lease.
		servers.watchClosely(Duration.ofSeconds(6));
		RedisServer master = servers.awaitFailOver(old);
		servers.servers().stream().filter((server) -> server != old && server != master).forEach(servers::awaitReplica);
		return old;
	}

	/**
	 * Request until the server has refused often enough for this reason; never granted.
	 */
	private static void assertRefused(Instance instance, String reason) {
		List<String> refusals = new ArrayList<>();
		while (refusals.stream().filter((refusal) -> refusal.contains(reason)).count() < 10) {
			try {
				assertThat(instance.locks().tryAcquire(REQUEST.waitTime(Duration.ofMillis(300)))).isEmpty();
			}
			catch (LeaseStoreException ex) {
				refusals.add(String.valueOf(ex.getMessage()));
			}
			assertThat(refusals).hasSizeLessThan(100);
		}
	}

	/**
	 * Request ten times: the old master refuses ({@code NOREPLICAS}) until its
	 * connections are opened again, to the new master.
	 */
	private static void assertNotGranted(Instance instance) {
		for (int i = 0; i < 10; i++) {
			try {
				assertThat(instance.locks().tryAcquire(REQUEST.waitTime(Duration.ofMillis(300)))).isEmpty();
			}
			catch (LeaseStoreException ex) {
				assertThat(ex.getMessage()).containsAnyOf("NOREPLICAS", "of its replicas", "gone again",
						"did not answer", "cannot be reached");
			}
		}
	}

	private static void assertGrantedAfter(LockLease before, CompletableFuture<LockLease> waiting) {
		assertThat(waiting).succeedsWithin(SOON)
			.satisfies((next) -> assertThat(next.fencingToken()).isGreaterThan(before.fencingToken()))
			.satisfies((next) -> assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED));
	}

	@Test
	@DisplayName("Without the settings both masters grant a lock until the old master is a replica: the loss is"
			+ " noticed within a renewal period, and fences grow")
	void withoutSettings(TestRedis redis) throws InterruptedException {
		Duration lease = Duration.ofSeconds(9);
		SentinelRedis servers = redis.startSentinel(1);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			Instance instance = fleet.start();
			fleet.awaitListening(1);
			Claims claims = new Claims(fleet, KEY, lease, instance);
			servers.awaitReplicated();
			RedisServer old = servers.master();
			servers.leaveOldMaster();
			old.freeze();
			servers.watchClosely();
			servers.awaitFailOver(old);
			old.thaw();
			Instance other = fleet.start();
			Claims others = new Claims(fleet, KEY, lease, other);
			// They were renewed at the old master, where no other instance looks.
			claims.assertHeld();
			long fence = fenceOf(instance, "another");
			assertThat(fenceOf(instance, "another")).isGreaterThan(fence);
			servers.demote(old);
			// Some seconds more to connect again, and for busy machines.
			claims.assertLostWithin(lease.dividedBy(3).plusMillis(2500));
			assertThat(fenceOf(other, "another")).isGreaterThan(fence);
			others.awaitRenewed();
			fleet.awaitListening(2);
			others.waitedForBy(instance).assertHandedOver();
			fleet.awaitNothingLeft();
		}
	}

}
