package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * What was stored for a held lock goes away, or is replaced. Its holder has lost it, and
 * does not bring it back.
 */
@WithRedis
class LostDataTests {

	private static final String KEY = "lost-data";

	/** So long that a loss within a fraction of it came by a renewal. */
	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON).leaseTime(Duration.ofMillis(4500));

	private static final Duration RENEWAL_PERIOD = Duration.ofMillis(1500);

	private final RedisServer server;

	private final Fleet fleet;

	LostDataTests(TestRedis redis) {
		this.server = redis.startServer();
		this.fleet = Fleet.on(redis, this.server);
	}

	@Test
	@DisplayName("F14 Redis starts again without data: lost within a renewal period, and not brought back")
	void restartWithoutData() throws InterruptedException {
		Instance instance = this.fleet.start();
		LockLease lease = instance.acquire(REQUEST);
		CountDownLatch lost = new CountDownLatch(1);
		lease.onLost(lost::countDown);
		this.server.restart();
		assertLostSoon(lease, lost);
		assertThat(this.fleet.isLocked(KEY)).isFalse();
		assertThat(this.fleet.fence(KEY)).isZero();
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
		assertLocksAgain(instance, lease.fencingToken());
	}

	@Test
	@DisplayName("F14 Redis starts again without data: a waiter has its turn all the same")
	void restartWithoutDataWhileOthersWait() {
		Instance instance = this.fleet.start();
		LockLease lease = instance.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = this.fleet.start().acquireInBackground(REQUEST);
		this.fleet.awaitQueued(KEY);
		this.server.restart();
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
			assertThat(lease.release()).isIn(ReleaseResult.LOST, ReleaseResult.RELEASED);
			next.extend(Duration.ofSeconds(20));
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		this.fleet.awaitNothingLeft();
	}

	static Stream<Named<Consumer<Fleet>>> losses() {
		return Stream.of(
				Named.of("FLUSHALL", (fleet) -> fleet.onServer((connection) -> connection.serverCommands().flushAll())),
				Named.of("DEL", (fleet) -> fleet.observer().delete(fleet.lockKey(KEY))),
				Named.of("DEL of everything",
						(fleet) -> fleet.observer().delete(fleet.observer().keys("*" + KEY + "*"))),
				Named.of("RENAME",
						(fleet) -> fleet.observer().rename(fleet.lockKey(KEY), fleet.lockKey(KEY) + "-moved")),
				Named.of("SET by another client",
						(fleet) -> fleet.observer()
							.opsForValue()
							.set(fleet.lockKey(KEY), "stranger", Duration.ofSeconds(1))),
				Named.of("another type", (fleet) -> {
					fleet.observer().delete(fleet.lockKey(KEY));
					fleet.observer().opsForList().rightPush(fleet.lockKey(KEY), "a list");
					fleet.observer().expire(fleet.lockKey(KEY), Duration.ofSeconds(3));
				}));
	}

	@Slow
	@ParameterizedTest(name = "F37 {0} while held: lost within a renewal period, and the fence still grows")
	@MethodSource("losses")
	void lost(Consumer<Fleet> loss) throws InterruptedException {
		Instance instance = this.fleet.start();
		LockLease lease = instance.acquire(REQUEST);
		CountDownLatch lost = new CountDownLatch(1);
		lease.onLost(lost::countDown);
		loss.accept(this.fleet);
		assertLostSoon(lease, lost);
		lease.close();
		// Whatever stands there now, and was never ours.
		this.fleet.observer().delete(List.of(this.fleet.lockKey(KEY), this.fleet.lockKey(KEY) + "-moved"));
		assertLocksAgain(this.fleet.start(), lease.fencingToken());
		assertLocksAgain(instance, lease.fencingToken());
	}

	private static void assertLostSoon(LockLease lease, CountDownLatch lost) throws InterruptedException {
		// A second more for a driver that has to connect again, and for busy machines.
		Duration time = RENEWAL_PERIOD.plusMillis(1500);
		assertThat(time).isLessThan(REQUEST.leaseTime());
		assertThat(lost.await(time.toMillis(), TimeUnit.MILLISECONDS)).as("told of the loss in time").isTrue();
		assertThat(lease.isHeld()).isFalse();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld).withMessageContaining(KEY);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.extend(Duration.ofSeconds(20)));
	}

	private void assertLocksAgain(Instance instance, long fence) {
		try (LockLease next = instance.acquire(REQUEST)) {
			assertThat(next.fencingToken()).isGreaterThan(fence);
		}
		this.fleet.awaitNothingLeft();
	}

}
