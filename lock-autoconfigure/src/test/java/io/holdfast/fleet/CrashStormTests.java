package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Order;
import io.holdfast.testing.SemaphoreFigures;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Instances are killed in turn while their threads hold and wait for permits, beside an
 * instance that survives. Half of the instances hand leases over among their threads.
 */
@WithRedis
@Slow
class CrashStormTests {

	private static final int CHILDREN = 50;

	/** Upper bound until a kill has met a hold: most children are short-lived. */
	private static final int MAX_CHILDREN = 4 * CHILDREN;

	/** Number of simultaneous children. */
	private static final int ALIVE = 4;

	/** Threads of each instance: some have to wait even if only one instance is alive. */
	private static final int THREADS = 3;

	private static final int LIMIT = 3;

	/** Longest life of a child after its start or first hold. */
	private static final int MOMENT = (int) TimeUnit.MILLISECONDS.toNanos(100);

	/** Long enough for a new JVM on a busy machine to renew in time. */
	private static final Duration LEASE = Duration.ofSeconds(10);

	@Test
	@DisplayName("F41 50 JVMs are killed while they hold or wait for permits and a lock: never above the limit, all free"
			+ " after a lease, nothing left")
	void crashStorm(TestRedis redis) throws Exception {
		String key = "storm";
		SemaphoreRequest request = SemaphoreRequest.of(key, LIMIT)
			.permits(2)
			.leaseTime(LEASE)
			.waitTime(Duration.ofMinutes(1));
		String lockKey = "storm-lock";
		LockRequest lock = LockRequest.of(lockKey).leaseTime(LEASE).waitTime(Duration.ofMinutes(1));
		Queue<Worker> killed = new ConcurrentLinkedQueue<>();
		// Of the surviving instance.
		Notes survivor = new Notes();
		Notes lockSurvivor = new Notes();
		try (Fleet fleet = new Fleet(redis)) {
			LockService locks = fleet.start();
			SemaphoreService semaphores = fleet.semaphores(locks);
			AtomicInteger started = new AtomicInteger();
			AtomicInteger met = new AtomicInteger();
			AtomicInteger going = new AtomicInteger(ALIVE);
			new Crowd().add(ALIVE, () -> {
				Random random = new Random();
				try {
					for (int number = started.incrementAndGet(); number <= CHILDREN
							|| met.get() == 0 && number <= MAX_CHILDREN; number = started.incrementAndGet()) {
						Order order = Order.values()[number % 2];
						Worker child = fleet.startUser(order, request, THREADS, lock, THREADS).awaitReady();
						if (random.nextBoolean()) {
							child.awaitUse(random.nextBoolean() ? key : lockKey);
						}
						LockSupport.parkNanos(random.nextInt(MOMENT));
						child.kill();
						met.addAndGet(child.unreleased(key) + child.unreleased(lockKey));
						killed.add(child);
					}
				}
				finally {
					going.decrementAndGet();
				}
			}).add(1, () -> {
				while (going.get() > 0) {
					Users.of(semaphores, request, 1, survivor).run();
				}
			}).add(1, () -> {
				while (going.get() > 0) {
					Users.of(locks, lock, 1, lockSurvivor).run();
				}
			}).run(Duration.ofMinutes(4));
			long stormOver = System.nanoTime();
			try (LockLease again = locks.acquire(lock);
					PermitLease all = semaphores
						.acquire(SemaphoreRequest.of(key, LIMIT).permits(LIMIT).waitTime(Fleet.PATIENCE))) {
				assertThat(Duration.ofNanos(System.nanoTime() - stormOver)).as("until all are free")
					.isLessThan(LEASE.plus(Fleet.PROMPT));
				assertThat(SemaphoreFigures.of(semaphores.status(key)))
					.isEqualTo(new SemaphoreFigures(key, LIMIT, false, LIMIT, 1, 0));
				assertThat(all.release()).isEqualTo(ReleaseResult.RELEASED);
				assertThat(again.release()).isEqualTo(ReleaseResult.RELEASED);
			}
			fleet.awaitNothingLeft();
		}
		assertThat(survivor.refusals() + lockSurvivor.refusals()).as("not granted within a minute").isZero();
		assertThat(killed).hasSizeGreaterThanOrEqualTo(CHILDREN);
		assertThat(killed.stream().flatMap((child) -> child.failures(key).stream())).as("failures").isEmpty();
		assertThat(Overlaps.assertWithin(holds(key, survivor, killed), LIMIT)).as("permits held at one moment")
			.isEqualTo(LIMIT);
		Hold.assertExclusive(holds(lockKey, lockSurvivor, killed));
		// Of permits or of the lock: chance decides which of both a kill meets.
		assertThat(killed.stream().mapToInt((child) -> child.unreleased(key) + child.unreleased(lockKey)).sum())
			.as("holds ended by a kill")
			.isPositive();
	}

	private static List<Hold> holds(String key, Notes survivor, Collection<Worker> killed) {
		List<Hold> holds = new ArrayList<>(survivor.holds());
		killed.forEach((child) -> holds.addAll(child.holds(key)));
		return holds;
	}

}
