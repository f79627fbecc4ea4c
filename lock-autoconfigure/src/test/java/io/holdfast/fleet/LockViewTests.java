package io.holdfast.fleet;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockService;
import io.holdfast.LockView;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Promises of a {@link LockView} without faults.
 */
class LockViewTests extends FleetTestCase {

	private static final Duration LEASE = Duration.ofSeconds(4);

	/** Its default wait time is so short that a view that used it would give up. */
	private static LockService mine;

	private static LockService other;

	private LockView lock;

	private LockView othersLock;

	@BeforeAll
	static void start() {
		mine = fleet.start("holdfast.lock.wait-time=100ms", "holdfast.lock.lease-time=" + LEASE.toMillis() + "ms");
		other = fleet.start();
	}

	@BeforeEach
	void view() {
		this.lock = mine.asLock(this.key);
		this.othersLock = other.asLock(this.key);
	}

	@AfterEach
	@Override
	void nothingIsLeft() {
		assertThat(Thread.interrupted()).as("interrupt flag that the test left").isFalse();
		super.nothingIsLeft();
	}

	@Test
	@DisplayName("A view locks for its thread, and excludes other instances until its unlock")
	void locks() {
		assertThat(this.lock.isLocked()).isFalse();
		this.lock.lock();
		assertThat(this.lock.isLocked()).isTrue();
		assertThat(this.othersLock.isLocked()).isTrue();
		assertThat(this.othersLock.tryLock()).isFalse();
		assertThat(this.othersLock.isHeldByCurrentThread()).as("held by this thread in another instance").isFalse();
		this.lock.unlock();
		assertThat(this.lock.isLocked()).isFalse();
		assertThat(this.othersLock.tryLock()).isTrue();
		assertThat(this.lock.tryLock()).isFalse();
		this.othersLock.unlock();
	}

	@Test
	@DisplayName("S14 The holding thread locks again, with the same fence; the last unlock releases the key")
	void isReentrant() throws Exception {
		this.lock.lock();
		long fence = mine.status(this.key).fencingToken();
		String owner = fleet.owner(this.key);
		this.lock.lockInterruptibly();
		assertThat(this.lock.tryLock()).isTrue();
		assertThat(this.lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
		assertThat(this.lock.getHoldCount()).isEqualTo(4);
		assertThat(mine.status(this.key).fencingToken()).isEqualTo(fence);
		for (int left = 3; left >= 0; left--) {
			assertThat(fleet.owner(this.key)).isEqualTo(owner);
			assertThat(this.lock.isHeldByCurrentThread()).isTrue();
			this.lock.unlock();
			assertThat(this.lock.getHoldCount()).isEqualTo(left);
		}
		assertThat(this.lock.isHeldByCurrentThread()).isFalse();
		assertThat(fleet.owner(this.key)).isNull();
	}

	@Test
	@DisplayName("S14 Another thread of the same instance does not hold the lock, and has to wait")
	void belongsToOneThread() throws Exception {
		this.lock.lock();
		boolean seen = Attempt.onAnotherThread(() -> {
			assertThat(this.lock.isHeldByCurrentThread()).isFalse();
			assertThat(this.lock.getHoldCount()).isZero();
			assertThat(this.lock.tryLock()).isFalse();
			return this.lock.isLocked();
		});
		assertThat(seen).isTrue();
		this.lock.unlock();
	}

	@Test
	@DisplayName("Views of a key are interchangeable")
	void viewsAreInterchangeable() {
		LockView twin = mine.asLock(this.key);
		assertThat(twin).isEqualTo(this.lock).hasSameHashCodeAs(this.lock).isNotEqualTo(this.othersLock);
		assertThat(mine.asLock("another")).isNotEqualTo(twin);
		assertThat(mine.asReadWriteLock(this.key)).isEqualTo(mine.asReadWriteLock(this.key))
			.isNotEqualTo(mine.asReadWriteLock("another"));
		assertThat(mine.asReadWriteLock(this.key).readLock()).isNotEqualTo(mine.asReadWriteLock(this.key).writeLock());
		this.lock.lock();
		twin.lock();
		assertThat(this.lock.getHoldCount()).isEqualTo(2);
		assertThat(twin.isHeldByCurrentThread()).isTrue();
		this.lock.unlock();
		twin.unlock();
		assertThat(this.lock.getHoldCount()).isZero();
		assertThat(twin.isLocked()).isFalse();
	}

	@Test
	@DisplayName("lock() and unlock() work although the interrupt flag is set, and keep the flag")
	void lockAndUnlockKeepFlag() {
		Thread.currentThread().interrupt();
		this.lock.lock();
		assertThat(Thread.currentThread().isInterrupted()).isTrue();
		assertThat(this.lock.isHeldByCurrentThread()).isTrue();
		this.lock.unlock();
		assertThat(Thread.interrupted()).isTrue();
		assertThat(fleet.owner(this.key)).isNull();
	}

	@Test
	@DisplayName("lock() waits for longer than the default wait time, also after an interrupt, whose flag it sets again")
	void lockWaitsThroughInterrupt() throws Exception {
		this.othersLock.lock();
		Attempt<Boolean> call = Attempt.start(() -> {
			this.lock.lock();
			boolean interrupted = Thread.interrupted();
			this.lock.unlock();
			return interrupted;
		});
		awaitStillWaiting(call);
		call.interrupt();
		awaitStillWaiting(call);
		this.othersLock.unlock();
		assertThat(call.get()).as("interrupt flag after lock()").isTrue();
	}

	@Test
	@DisplayName("lockInterruptibly() throws at once if the flag is set, free or held by this thread though the key is")
	void lockInterruptiblyHeedsFlag() {
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(InterruptedException.class).isThrownBy(this.lock::lockInterruptibly);
		assertThat(Thread.currentThread().isInterrupted()).as("flag, which the exception replaces").isFalse();
		assertThat(fleet.owner(this.key)).isNull();
		assertThat(this.lock.getHoldCount()).isZero();
		this.lock.lock();
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(InterruptedException.class).isThrownBy(this.lock::lockInterruptibly);
		assertThat(this.lock.getHoldCount()).isOne();
		this.lock.unlock();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@DisplayName("lockInterruptibly() and tryLock(time) end their wait at an interrupt, and leave nothing in the queue")
	void waitIsInterrupted(boolean timed) {
		this.othersLock.lock();
		Attempt<Boolean> call = Attempt.start(() -> {
			if (timed) {
				return this.lock.tryLock(20, TimeUnit.SECONDS);
			}
			this.lock.lockInterruptibly();
			return true;
		});
		awaitStillWaiting(call);
		call.interrupt();
		assertThat(call.failure()).isInstanceOf(InterruptedException.class);
		fleet.awaitWaiting(this.key, 0);
		this.othersLock.unlock();
	}

	@Test
	@DisplayName("tryLock() tries once, with or without the interrupt flag, and keeps the flag")
	void tryLockKeepsFlag() throws Exception {
		Thread.currentThread().interrupt();
		assertThat(this.lock.tryLock()).isTrue();
		assertThat(Thread.interrupted()).isTrue();
		boolean kept = Attempt.onAnotherThread(() -> {
			Thread.currentThread().interrupt();
			assertThat(this.lock.tryLock()).isFalse();
			return Thread.interrupted();
		});
		assertThat(kept).isTrue();
		this.lock.unlock();
	}

	@Test
	@DisplayName("tryLock(time) throws at once if the interrupt flag is set, free though the key is")
	void timedTryLockHeedsFlag() {
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> this.lock.tryLock(1, TimeUnit.SECONDS));
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> this.lock.tryLock(0, TimeUnit.SECONDS));
		assertThat(fleet.owner(this.key)).isNull();
		assertThat(this.lock.getHoldCount()).isZero();
	}

	@Test
	@DisplayName("tryLock(time) waits for the given time and not much longer, and is served at an earlier release")
	void timedTryLockWaits() throws Exception {
		Duration time = Duration.ofMillis(300);
		this.othersLock.lock();
		long from = System.nanoTime();
		assertThat(this.lock.tryLock(300, TimeUnit.MILLISECONDS)).isFalse();
		assertThat(Duration.ofNanos(System.nanoTime() - from)).isBetween(time, time.plus(Fleet.PROMPT));
		fleet.awaitWaiting(this.key, 0);
		Attempt<Boolean> call = Attempt.start(() -> {
			boolean locked = this.lock.tryLock(20, TimeUnit.SECONDS);
			this.lock.unlock();
			return locked;
		});
		fleet.awaitWaiting(this.key, 1);
		this.othersLock.unlock();
		assertThat(call.get()).isTrue();
	}

	@Test
	@DisplayName("tryLock(time) tries once if the time is zero or less, and accepts the longest time")
	void timedTryLockBounds() throws Exception {
		this.othersLock.lock();
		assertThat(this.lock.tryLock(0, TimeUnit.SECONDS)).isFalse();
		assertThat(this.lock.tryLock(Long.MIN_VALUE, TimeUnit.DAYS)).isFalse();
		this.othersLock.unlock();
		for (TimeUnit unit : TimeUnit.values()) {
			assertThat(this.lock.tryLock(-1, unit)).isTrue();
			assertThat(this.lock.tryLock(Long.MAX_VALUE, unit)).as("the longest in %s", unit).isTrue();
			this.lock.unlock();
			this.lock.unlock();
		}
	}

	@Test
	@DisplayName("newCondition() is not supported")
	void hasNoConditions() {
		assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(this.lock::newCondition);
	}

	@Test
	@DisplayName("unlock() is refused to a thread that holds nothing by a view")
	void unlockIsForHolders() throws Exception {
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock);
		this.lock.lock();
		Attempt<Boolean> call = Attempt.start(() -> {
			this.lock.unlock();
			return true;
		});
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(call::get);
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.othersLock::unlock);
		assertThat(this.lock.isHeldByCurrentThread()).isTrue();
		this.lock.unlock();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this.lock::unlock);
	}

	@Test
	@DisplayName("remaining() is the remaining life of the key in Redis: zero for a free key, null without an end")
	void tellsRemaining() {
		assertThat(this.lock.remaining()).isEqualTo(Duration.ZERO);
		this.lock.lock();
		assertThat(this.lock.remaining()).isPositive().isLessThanOrEqualTo(LEASE);
		assertThat(this.othersLock.remaining()).isPositive().isLessThanOrEqualTo(LEASE);
		this.lock.unlock();
		fleet.template().opsForValue().set(fleet.lockKey(this.key), "foreign");
		assertThat(this.lock.isLocked()).isTrue();
		assertThat(this.lock.remaining()).isNull();
		fleet.template().delete(fleet.lockKey(this.key));
	}

	/** Hold for several times the default wait time. */
	private void awaitStillWaiting(Attempt<?> call) {
		fleet.awaitWaiting(this.key, 1);
		await("still waiting").atMost(Fleet.PATIENCE).during(Duration.ofMillis(250)).until(() -> !call.isDone());
		fleet.awaitWaiting(this.key, 1);
	}

}
