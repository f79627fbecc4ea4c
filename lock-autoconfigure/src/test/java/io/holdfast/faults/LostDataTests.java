package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.Order;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * The entry of a lease disappears, or is replaced, while it is held and waited for. Its
 * holder has lost the lease, and does not restore it.
 */
@WithRedis
class LostDataTests {

	private static final String KEY = "lost-data";

	/** So long that a loss within a fraction of the lease was noticed by a renewal. */
	private static final Duration LEASE = Duration.ofMillis(4500);

	private static final Duration RENEWAL_PERIOD = Duration.ofMillis(1500);

	private final RedisServer server;

	private final Fleet fleet;

	private final Instance instance;

	private final Instance other;

	LostDataTests(TestRedis redis) {
		this.server = redis.startServer();
		this.fleet = Fleet.on(redis, this.server);
		this.instance = this.fleet.start();
		this.other = this.fleet.start();
	}

	enum Loss {

		RESTART, FLUSHALL, HOLDERS, HOLDERS_AND_STATE, ANOTHER_TYPE, MOVED, ANOTHER_OWNER

	}

	private void lose(Loss loss, Pool pool) {
		String holders = pool.holdersKey(this.fleet, KEY);
		switch (loss) {
			case RESTART -> this.server.restart();
			case FLUSHALL -> this.fleet.onServer((connection) -> connection.serverCommands().flushAll());
			case HOLDERS -> this.fleet.observer().delete(holders);
			case HOLDERS_AND_STATE -> {
				this.fleet.observer().delete(holders);
				this.fleet.observer().delete(pool.stateKey(this.fleet, KEY));
			}
			case ANOTHER_TYPE -> {
				this.fleet.observer().delete(holders);
				this.fleet.observer().opsForList().rightPush(holders, "a list");
			}
			case MOVED -> this.fleet.observer().rename(holders, "moved");
			case ANOTHER_OWNER -> this.fleet.observer().opsForValue().set(holders, "stranger", LEASE);
		}
	}

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(SOON).leaseTime(LEASE);
	}

	@ParameterizedTest(
			name = "F14 F37 {1} lost while held: noticed within a renewal period, not restored, fences grow, never too many holders ({0})")
	@CsvSource({ "LOCK, RESTART", "LOCK, FLUSHALL", "LOCK, HOLDERS", "LOCK, HOLDERS_AND_STATE", "LOCK, ANOTHER_TYPE",
			"LOCK, MOVED", "LOCK, ANOTHER_OWNER", "SEMAPHORE, RESTART", "SEMAPHORE, FLUSHALL", "SEMAPHORE, HOLDERS",
			"SEMAPHORE, HOLDERS_AND_STATE", "SEMAPHORE, ANOTHER_TYPE", "READ_WRITE, RESTART", "READ_WRITE, FLUSHALL",
			"READ_WRITE, HOLDERS", "READ_WRITE, ANOTHER_TYPE" })
	void holdersLost(Pool pool, Loss loss) throws InterruptedException {
		Lease lease = request(pool).acquire(this.instance);
		List<Lease> all = new ArrayList<>(request(pool).acquireRest(this.other));
		all.add(lease);
		CountDownLatch lost = new CountDownLatch(all.size());
		all.forEach((one) -> one.onLost(lost::countDown));
		lose(loss, pool);
		// A second more for a driver that has to connect again, and for busy machines.
		Duration time = RENEWAL_PERIOD.plusMillis(1500);
		assertThat(time).isLessThan(LEASE);
		assertThat(lost.await(time.toMillis(), TimeUnit.MILLISECONDS)).as("loss noticed in time").isTrue();
		assertThat(lease.isHeld()).isFalse();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld).withMessageContaining(KEY);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.extend(LEASE));
		if (loss == Loss.ANOTHER_TYPE || loss == Loss.ANOTHER_OWNER) {
			assertThat(this.fleet.observer().delete(pool.holdersKey(this.fleet, KEY))).isTrue();
		}
		assertThat(this.fleet.observer().hasKey(pool.holdersKey(this.fleet, KEY))).isFalse();
		Lease next = request(pool).all().acquire(this.other);
		if (next instanceof LockLease lock) {
			assertThat(lock.fencingToken()).isGreaterThan(((LockLease) lease).fencingToken());
		}
		all.forEach((one) -> assertThat(one.release()).isEqualTo(ReleaseResult.LOST));
		assertThat(request(pool).tryAcquire(this.instance)).as("after the release of the lost").isEmpty();
		assertThat(request(pool).tryAcquire(this.other)).isEmpty();
		assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		pool.assertAllFree(this.fleet, KEY, this.instance, this.other);
	}

	@Slow
	@ParameterizedTest(
			name = "F14 F37 {1} lost with waiters: all waiters are granted, and never too many holders at once ({0}, {2})")
	@CsvSource({ "SEMAPHORE, RESTART, LOCAL_HAND_OVER", "SEMAPHORE, FLUSHALL, STRICT",
			"SEMAPHORE, HOLDERS, LOCAL_HAND_OVER", "READ_WRITE, RESTART, LOCAL_HAND_OVER",
			"READ_WRITE, FLUSHALL, LOCAL_HAND_OVER", "READ_WRITE, FLUSHALL, STRICT",
			"READ_WRITE, HOLDERS, LOCAL_HAND_OVER", "READ_WRITE, HOLDERS, STRICT" })
	void holdersLostWhileOthersWait(Pool pool, Loss loss, Order order) {
		Instance holder = this.fleet.start(order.properties());
		Lease lease = request(pool).all().acquire(holder);
		CompletableFuture<Lease> first = request(pool).all().acquireInBackground(this.other);
		pool.awaitQueued(this.fleet, KEY, 1);
		CompletableFuture<? extends Lease> second = request(pool).all().acquireAsync(holder);
		// Behind an exclusive owner of its own instance, another request waits there.
		boolean waitsHere = pool == Pool.READ_WRITE;
		pool.awaitQueued(this.fleet, KEY, waitsHere ? 1 : 2);
		lose(loss, pool);
		await("the loss").atMost(SOON).until(() -> !lease.isHeld());
		lease.close();
		CompletableFuture.anyOf(first, second).orTimeout(10, TimeUnit.SECONDS).join();
		CompletableFuture<? extends Lease> winner = first.isDone() ? first : second;
		CompletableFuture<? extends Lease> loser = first.isDone() ? second : first;
		assertThat(loser).as("granted beside the new holder").isNotDone();
		assertThat(request(pool).tryAcquire(this.other)).isEmpty();
		assertThat(winner.join().release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(loser).succeedsWithin(SOON).satisfies(Lease::release);
		pool.assertAllFree(this.fleet, KEY, this.instance, this.other);
	}

	@ParameterizedTest(
			name = "F37 The queue is lost: waiters are granted all the same, and the holder does not notice ({0})")
	@EnumSource(mode = Mode.EXCLUDE, names = "LOCK")
	void queueLost(Pool pool) {
		Lease lease = request(pool).all().acquire(this.instance);
		CompletableFuture<Lease> first = request(pool).all().acquireInBackground(this.other);
		CompletableFuture<Lease> second = request(pool).acquireInBackground(this.instance);
		pool.awaitQueued(this.fleet, KEY, 2);
		this.fleet.observer().delete(pool.queueKey(this.fleet, KEY));
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(CompletableFuture.allOf(first.thenAccept(Lease::close), second.thenAccept(Lease::close)))
			.succeedsWithin(SOON);
		pool.assertAllFree(this.fleet, KEY, this.instance, this.other);
	}

}
