package io.holdfast.fleet;

import java.util.List;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockService;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Promises of a {@link LockView} when its lease is lost, its instance stops or its store
 * fails.
 */
@WithRedis
@Slow
class LockViewFaultTests {

	private static final String KEY = "key";

	private final TestRedis redis;

	private final Fleet fleet;

	private LockService mine;

	private LockService other;

	private LockView lock;

	LockViewFaultTests(TestRedis redis) {
		this.redis = redis;
		this.fleet = new Fleet(redis);
	}

	@BeforeEach
	void start() {
		this.mine = this.fleet.start("holdfast.lock.lease-time=600ms");
		this.other = this.fleet.start();
		this.lock = this.mine.asLock(KEY);
	}

	@AfterEach
	void nothingIsLeft() {
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A lost lock is no longer held; unlock() throws, gives up the hold all the same, and leaves the next"
			+ " owner alone")
	void unlockAfterLoss() {
		this.lock.lock();
		LockLease next = takeAway();
		assertThat(this.lock.isHeldByCurrentThread()).isFalse();
		assertThat(this.lock.getHoldCount()).as("locks to undo").isOne();
		String owner = this.fleet.owner(KEY);
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock)
			.withMessageContaining("lost");
		assertThat(this.lock.getHoldCount()).isZero();
		assertThat(this.fleet.owner(KEY)).isEqualTo(owner).isNotNull();
		assertThat(next.isHeld()).isTrue();
		next.close();
		this.lock.lock();
		this.lock.unlock();
	}

	@Test
	@DisplayName("S14 A lost lock with several holds needs as many unlocks, each of which throws")
	void nestedUnlockAfterLoss() {
		this.lock.lock();
		this.lock.lock();
		LockLease next = takeAway();
		for (int left = 1; left >= 0; left--) {
			assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock);
			assertThat(this.lock.getHoldCount()).isEqualTo(left);
		}
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock)
			.withMessageNotContaining("lost");
		assertThat(next.isHeld()).isTrue();
		next.close();
	}

	@Test
	@DisplayName("S14 A thread cannot lock a lost lock again, by any method, before its unlock")
	void lockAfterLoss() {
		this.lock.lock();
		takeAway().close();
		List<ThrowingCallable> ways = List.of(this.lock::lock, this.lock::lockInterruptibly, this.lock::tryLock,
				() -> this.lock.tryLock(1, TimeUnit.SECONDS), () -> this.mine.acquire(KEY),
				() -> this.mine.tryAcquire(KEY));
		for (ThrowingCallable way : ways) {
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(way);
		}
		assertThat(this.lock.getHoldCount()).isOne();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock);
		assertThat(this.lock.tryLock()).isTrue();
		this.lock.unlock();
	}

	@Test
	@DisplayName("lock() throws when its instance shuts down, during its wait and afterwards")
	void shutDown() {
		LockLease lease = this.other.acquire(KEY);
		Attempt<Boolean> call = Attempt.start(() -> {
			this.lock.lock();
			return true;
		});
		this.fleet.awaitWaiting(KEY, 1);
		this.fleet.stop(this.mine);
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(call::get)
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(this.lock::lock)
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(this.lock::lockInterruptibly);
		lease.close();
	}

	@Test
	@DisplayName("Locking and queries throw on trouble with the store, unlock() does not")
	void storeFails() {
		RedisServer server = this.redis.startServer();
		try (ConfigurableApplicationContext context = TestApplication.start(server.host(), server.port(),
				this.redis.keyPrefix(),
				List.of("holdfast.redis.command-timeout=300ms", "spring.data.redis.timeout=500ms"))) {
			LockView view = context.getBean(LockService.class).asLock(KEY);
			view.lock();
			server.kill();
			assertThat(view.isHeldByCurrentThread()).as("held until its lease ends").isTrue();
			view.unlock();
			assertThat(view.getHoldCount()).isZero();
			List<ThrowingCallable> ways = List.of(view::lock, view::lockInterruptibly, view::tryLock,
					() -> view.tryLock(200, TimeUnit.MILLISECONDS), view::isLocked, view::remaining);
			for (ThrowingCallable way : ways) {
				assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(way);
			}
			assertThat(view.getHoldCount()).isZero();
		}
	}

	/**
	 * Let the other instance acquire the key, and wait until this instance sees the loss.
	 */
	private LockLease takeAway() {
		assertThat(this.other.admin().forceRelease(KEY)).isTrue();
		LockLease next = this.other.acquire(KEY);
		await("loss noticed").atMost(Fleet.PATIENCE).pollInSameThread().until(() -> !this.lock.isHeldByCurrentThread());
		return next;
	}

}
