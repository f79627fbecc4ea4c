package io.holdfast.fleet;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;

import io.holdfast.LockService;
import io.holdfast.LockView;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * A view as a ReadWriteLock of java.util.concurrent.
 */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class ReadWriteViewTests extends FleetTestCase {

	private static LockService first;

	private static LockService second;

	@BeforeAll
	static void start() {
		first = fleet.start();
		second = fleet.start();
	}

	@Test
	@DisplayName("S15 A cache with downgrading, as in the JDK's documentation, is filled once by many threads of 2"
			+ " contexts")
	void cachedData() throws Exception {
		Data data = fleet.data();
		AtomicInteger filled = new AtomicInteger();
		Crowd crowd = new Crowd();
		for (LockService locks : List.of(first, second)) {
			ReadWriteLock lock = locks.asReadWriteLock(this.key);
			crowd.add(6, () -> assertThat(cached(data, lock, filled)).isEqualTo(42));
		}
		crowd.run();
		assertThat(filled).hasValue(1);
	}

	private static long cached(Data data, ReadWriteLock lock, AtomicInteger filled) {
		lock.readLock().lock();
		if (data.get("cached") == 0) {
			lock.readLock().unlock();
			lock.writeLock().lock();
			try {
				if (data.get("cached") == 0) {
					data.add("cached", 42);
					filled.incrementAndGet();
				}
				lock.readLock().lock();
			}
			finally {
				lock.writeLock().unlock();
			}
		}
		try {
			return data.get("cached");
		}
		finally {
			lock.readLock().unlock();
		}
	}

	@Test
	@DisplayName("S14 Both locks are re-entrant, count their holds apart, and belong to their thread")
	void reentrant() throws Exception {
		LockView writing = first.asReadWriteLock(this.key).writeLock();
		LockView reading = first.asReadWriteLock(this.key).readLock();
		writing.lock();
		writing.lock();
		reading.lock();
		assertThat(List.of(writing.getHoldCount(), reading.getHoldCount())).containsExactly(2, 1);
		assertThatExceptionOfType(IllegalMonitorStateException.class)
			.isThrownBy(() -> Attempt.onAnotherThread(() -> unlock(writing)));
		assertThatExceptionOfType(IllegalMonitorStateException.class)
			.isThrownBy(() -> Attempt.onAnotherThread(() -> unlock(reading)));
		writing.unlock();
		assertThat(tryOnAnotherThread(second.asReadWriteLock(this.key).readLock())).isFalse();
		writing.unlock();
		assertThat(tryOnAnotherThread(second.asReadWriteLock(this.key).readLock())).as("beside a nested reader")
			.isFalse();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(writing::unlock);
		reading.unlock();
		assertThat(tryOnAnotherThread(second.asReadWriteLock(this.key).writeLock())).isTrue();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(reading::unlock);
	}

	private static boolean unlock(LockView lock) {
		lock.unlock();
		return true;
	}

	private static boolean tryOnAnotherThread(LockView lock) throws Exception {
		return Attempt.onAnotherThread(() -> lock.tryLock() && unlock(lock));
	}

}
