package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus.Owner;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReadWriteLockView;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * Views with the terms of a request: terms of each view, and facts that views of a key
 * share.
 */
class ViewTermsTests extends FleetTestCase {

	private static final Duration SHORT = Duration.ofMillis(1500);

	private static LockService first;

	private static LockService second;

	@BeforeAll
	static void start() {
		first = fleet.start();
		second = fleet.start();
	}

	@Test
	@DisplayName("A lock has the lease time and renewal of the request; the view has its lease and fencing token")
	void lease() {
		LockView view = first.asLock(LockRequest.of(this.key).leaseTime(SHORT).autoRenew(false));
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(view::lease);
		view.lock();
		LockLease lease = view.lease();
		assertThat(lease.key()).isEqualTo(this.key);
		assertThat(lease.remaining()).isPositive().isLessThanOrEqualTo(SHORT);
		assertThat(lease.fencingToken()).isEqualTo(second.status(this.key).fencingToken());
		await("the end of a lease that is not renewed").atMost(Fleet.PATIENCE).until(() -> !lease.isHeld());
		assertThat(view.isHeldByCurrentThread()).isFalse();
		assertThat(view.lease()).as("until it is unlocked").isSameAs(lease);
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(view::unlock)
			.withMessageContaining("was lost");
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(view::lease);
	}

	@Test
	@DisplayName("After a direct release of a view's lease, the unlock fails with that reason")
	void releasedByItself() {
		LockView view = first.asLock(this.key);
		view.lock();
		view.lease().release();
		assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(view::unlock)
			.withMessageContaining("was released by itself");
		assertThat(view.getHoldCount()).isZero();
	}

	@Test
	@DisplayName("Views with different terms share the holds of a thread; the longest lease time counts")
	void shared() throws Exception {
		LockRequest brief = LockRequest.of(this.key).leaseTime(SHORT).autoRenew(false);
		LockView terms = first.asLock(brief);
		LockView defaults = first.asLock(this.key);
		assertThat(terms).isEqualTo(first.asLock(brief)).hasSameHashCodeAs(first.asLock(brief)).isNotEqualTo(defaults);
		assertThat(defaults).isEqualTo(first.asLock(LockRequest.of(this.key))).isNotEqualTo(second.asLock(this.key));
		terms.lock();
		long fence = terms.lease().fencingToken();
		assertThat(defaults.isHeldByCurrentThread()).isTrue();
		assertThat(defaults.tryLock()).isTrue();
		for (LockView view : List.of(terms, defaults)) {
			assertThat(view.getHoldCount()).isEqualTo(2);
			assertThat(view.lease().fencingToken()).isEqualTo(fence);
			LockLease lease = view.lease();
			await("a renewal for the longest lease time").until(() -> lease.remaining().compareTo(SHORT) > 0);
		}
		assertThat(Attempt.onAnotherThread(() -> terms.tryLock() || defaults.tryLock())).isFalse();
		terms.unlock();
		assertThat(second.asLock(this.key).tryLock()).isFalse();
		assertThat(terms.getHoldCount()).isEqualTo(1);
		defaults.unlock();
		assertThat(second.asLock(this.key).isLocked()).isFalse();
		for (LockView view : List.of(terms, defaults)) {
			assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(view::unlock);
		}
	}

	@Test
	@DisplayName("A view with a wait time waits no longer; tries have a time of their own")
	void waitTime() throws Exception {
		LockView view = second.asLock(LockRequest.of(this.key).waitTime(Duration.ofSeconds(1)));
		first.asLock(this.key).lock();
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(view::lock)
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT));
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(view::lockInterruptibly);
		assertThat(view.getHoldCount()).isZero();
		assertThat(view.tryLock()).isFalse();
		Attempt<Boolean> waiting = Attempt.start(() -> {
			boolean locked = view.tryLock(10, TimeUnit.SECONDS);
			view.unlock();
			return locked;
		});
		fleet.awaitWaiting(this.key, 1);
		first.asLock(this.key).unlock();
		assertThat(waiting.get()).isTrue();
	}

	@Test
	@DisplayName("Both locks of a read-write lock have the terms; a reader and a writer of the same thread count apart")
	void readersAndWriters() {
		LockRequest request = LockRequest.of(this.key).leaseTime(Duration.ofMinutes(5));
		ReadWriteLockView pair = first.asReadWriteLock(request);
		assertThat(pair).isEqualTo(first.asReadWriteLock(request.mode(LockMode.READ)))
			.isNotEqualTo(first.asReadWriteLock(this.key));
		assertThat(pair.readLock()).isEqualTo(first.asLock(request.mode(LockMode.READ)));
		pair.writeLock().lock();
		assertThat(pair.writeLock().lease().remaining()).isGreaterThan(Duration.ofMinutes(4));
		pair.readLock().lock();
		assertThat(pair.readLock().getHoldCount()).isEqualTo(1);
		assertThat(pair.readLock().lease().fencingToken()).isEqualTo(pair.writeLock().lease().fencingToken());
		pair.writeLock().unlock();
		assertThat(first.asReadWriteLock(this.key).readLock().isHeldByCurrentThread()).isTrue();
		assertThat(second.status(this.key).owner()).isEqualTo(Owner.OTHER_INSTANCE);
		pair.readLock().unlock();
	}

	@Test
	@DisplayName("Several keys in the request of a view are refused with the cure")
	void refused() {
		LockRequest several = LockRequest.ofAll(List.of("a", "b"));
		assertThatIllegalArgumentException().isThrownBy(() -> first.asLock(several))
			.withMessageContaining("for 2 keys (a, b): use acquire(request)");
		assertThatIllegalArgumentException().isThrownBy(() -> first.asReadWriteLock(several));
	}

}
