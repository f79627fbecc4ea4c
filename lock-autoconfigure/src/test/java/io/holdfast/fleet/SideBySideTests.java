package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.Resource;
import io.holdfast.testing.Order;
import io.holdfast.testing.PreviousVersion;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Instances of the previous and of this version share a Redis under load, as during a
 * rolling deployment; instances of version 1 of the protocol are refused.
 */
@WithRedis
@Slow
class SideBySideTests {

	private static final int ALIVE = 3;

	private static final int THREADS = 3;

	private static final int LIMIT = 3;

	private static final Duration LEASE = Duration.ofSeconds(10);

	private static final LockRequest LOCK = LockRequest.of("lock").leaseTime(LEASE).waitTime(Duration.ofMinutes(1));

	private static final LockRequest READ = LockRequest.of("read-write")
		.mode(LockMode.READ)
		.leaseTime(LEASE)
		.waitTime(Duration.ofMinutes(1));

	private static final SemaphoreRequest PERMITS = SemaphoreRequest.of("permits", LIMIT)
		.permits(2)
		.leaseTime(LEASE)
		.waitTime(Duration.ofMinutes(1));

	private static final List<String> USES = List.of("lock", "read", "write", "permits");

	/**
	 * Direction of a change of version.
	 */
	enum Way {

		UPGRADE, DOWNGRADE

	}

	@ParameterizedTest(name = "{0}")
	@EnumSource
	@DisplayName("Instances are killed in turn and replaced by instances of the other version: the limit is respected,"
			+ " all instances go on, no keys stay")
	void rolls(Way way, TestRedis redis) throws Exception {
		List<Worker> all = new ArrayList<>();
		try (Fleet fleet = new Fleet(redis)) {
			roll(way, fleet, List.of(), all);
			LockService locks = fleet.start();
			try (LockLease lock = locks.acquire(LOCK.waitTime(Fleet.PATIENCE));
					LockLease write = locks.acquire(READ.mode(LockMode.EXCLUSIVE).waitTime(Fleet.PATIENCE))) {
				assertThat(lock.isHeld() && write.isHeld()).isTrue();
				fleet.semaphores(locks).acquire(PERMITS.permits(LIMIT).waitTime(Fleet.PATIENCE)).close();
			}
			fleet.awaitNothingLeft();
		}
		assertWithinLimits(all);
	}

	@ParameterizedTest(name = "{0} in a cluster")
	@EnumSource
	@DisplayName("The same in a cluster, where each instance has a connection to each master")
	void rollsInCluster(Way way, TestRedis redis) throws Exception {
		List<Worker> all = new ArrayList<>();
		try (Fleet fleet = new Fleet(redis)) {
			roll(way, fleet, redis.startCluster(3).properties(), all);
		}
		assertWithinLimits(all);
	}

	@ParameterizedTest(name = "{0}")
	@EnumSource
	@DisplayName("An instance of version 1 of the protocol and an instance of this version refuse each other at the"
			+ " start")
	void refuses(Way way, TestRedis redis) throws Exception {
		String version1 = PreviousVersion.ofProtocol1();
		boolean upgrade = way == Way.UPGRADE;
		try (Fleet fleet = new Fleet(redis)) {
			Worker first = (upgrade ? fleet.startOther(version1) : fleet.startWorker()).awaitReady();
			Worker second = upgrade ? fleet.startWorker() : fleet.startOther(version1);
			assertThat(second.awaitRefusal()).contains("cannot share locks and semaphores")
				.contains(upgrade
						? "speaks version 1 of the protocol in Redis, and this one speaks 2, which needs 2 or newer"
						: "speaks version 2 of the protocol in Redis, which needs 2 or newer, and this one speaks 1")
				.contains(upgrade ? "stop all instances, wait for the longest lease time, and start them"
						: "Start this application with a newer version of Holdfast");
			first.acquire("lock", LOCK);
			first.awaitGranted("lock");
		}
	}

	private static void roll(Way way, Fleet fleet, List<String> where, List<Worker> all) throws Exception {
		String previous = PreviousVersion.classPath();
		for (int i = 0; i < 2 * ALIVE; i++) {
			// Six processes connect at once, which takes a busy machine many seconds. A
			// lost reply is noticed all the same: each process has to go on first.
			boolean old = (i < ALIVE) == (way == Way.UPGRADE);
			String[] properties = Stream
				.of(where, List.of(Order.values()[i % 2].properties()), List.of("holdfast.redis.command-timeout=20s"))
				.flatMap(List::stream)
				.toArray(String[]::new);
			all.add(old ? fleet.startOther(previous, properties) : fleet.startWorker(properties));
		}
		all.forEach(Worker::awaitReady);
		all.subList(0, ALIVE).forEach(SideBySideTests::use);
		for (int number = 0; number < ALIVE; number++) {
			int i = number;
			Worker next = all.get(ALIVE + i);
			use(next);
			USES.forEach(next::awaitUse);
			long since = System.nanoTime();
			await("uses by all").atMost(Fleet.PATIENCE).until(() -> {
				assertNothingFailed(all);
				return all.subList(i, ALIVE + i + 1).stream().allMatch((worker) -> hasUsed(worker, since));
			});
			all.get(i).kill();
		}
		all.subList(ALIVE, 2 * ALIVE).forEach(Worker::kill);
	}

	private static void assertNothingFailed(List<Worker> all) {
		assertThat(all.stream().flatMap((worker) -> USES.stream().flatMap((name) -> worker.failures(name).stream())))
			.as("failures")
			.isEmpty();
	}

	private static void assertWithinLimits(List<Worker> all) {
		assertNothingFailed(all);
		Hold.assertExclusive(holds(all, "lock").toList());
		assertThat(Overlaps.assertWithin(holds(all, "permits").toList(), LIMIT)).as("simultaneous permits")
			.isEqualTo(LIMIT);
		Overlaps.assertWithin(Stream.concat(holds(all, "read"), holds(all, "write")).toList(), Resource.ALL);
	}

	private static boolean hasUsed(Worker worker, long since) {
		return USES.stream().allMatch((name) -> worker.holds(name).stream().anyMatch((hold) -> hold.from() > since));
	}

	private static void use(Worker worker) {
		worker.use("lock", LOCK, THREADS, Integer.MAX_VALUE);
		worker.use("read", READ, THREADS, Integer.MAX_VALUE);
		worker.use("write", READ.mode(LockMode.EXCLUSIVE), 1, Integer.MAX_VALUE);
		worker.use("permits", PERMITS, THREADS, Integer.MAX_VALUE);
	}

	private static Stream<Hold> holds(List<Worker> workers, String name) {
		return workers.stream().flatMap((worker) -> worker.holds(name).stream());
	}

}
