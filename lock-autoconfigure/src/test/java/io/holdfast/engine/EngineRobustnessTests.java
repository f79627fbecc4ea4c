package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * An engine under stress and at odd moments, with a scripted store and clock. Tokens are
 * 1, 2, … in the order of the requests.
 */
class EngineRobustnessTests extends ScriptedEngine {

	private static final LockRequest ONCE = REQUEST.waitTime(Duration.ZERO);

	private final Queue<Runnable> pending = new ArrayDeque<>();

	EngineRobustnessTests() {
		this.callbacks = this.pending::add;
	}

	@Test
	@DisplayName("A wake-up before the end of the sending call grants the lock")
	void wakeUpBeforeTheReleaseIsSent() {
		LockLease lease = granted(REQUEST);
		CompletableFuture<LockLease> next = this.service.acquireAsync(REQUEST);
		this.store.whileSending = (line) -> {
			if (line.equals("release 1 next 2")) {
				this.store.wakeUps.granted(lock("k"), ID + ":2", 20, 5000);
			}
		};
		lease.releaseAsync();
		runCallbacks();
		assertThat(next).isCompleted();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
	}

	@Test
	@DisplayName("A wake-up with a newer fence than the hold's ends the hold")
	void grantedAnew() {
		LockLease lease = granted(REQUEST);
		this.store.wakeUps.granted(lock("k"), ID + ":1", lease.fencingToken(), 5000);
		assertThat(lease.isHeld()).as("a late message of the same grant").isTrue();
		this.store.sent();
		this.store.wakeUps.granted(lock("k"), ID + ":1", lease.fencingToken() + 1, 0);
		assertThat(lease.isHeld()).as("a message that grants nothing").isTrue();
		this.store.wakeUps.granted(lock("k"), ID + ":1", lease.fencingToken() + 1, 5000);
		assertThat(lease.isHeld()).isFalse();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld)
			.withMessageContaining("granted it again");
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	@DisplayName("An unconfirmed grant with a newer fence also ends the hold")
	void grantedAnewUnconfirmed() {
		LockLease lease = granted(REQUEST);
		this.store.wakeUps.grantedUnconfirmed(lock("k"), ID + ":1", lease.fencingToken());
		assertThat(lease.isHeld()).as("a late message of the same grant").isTrue();
		this.store.sent();
		this.store.wakeUps.grantedUnconfirmed(lock("k"), ID + ":1", lease.fencingToken() + 1);
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	@DisplayName("A waiter asks again on the wake-up of an unconfirmed grant")
	void unconfirmed() {
		CompletableFuture<LockLease> answer = queued(REQUEST, 15);
		this.store.sent();
		this.store.wakeUps.grantedUnconfirmed(lock("k"), ID + ":1", 20);
		assertThat(answer).isNotDone();
		this.store.last("acquire 1").granted(20, 30_000);
		runCallbacks();
		assertThat(answer).isCompleted();
	}

	@Test
	@DisplayName("A newer grant right after an answer ends the hold of the older grant")
	void grantedAnewBehindTheAnswer() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.engine.queues.find(lock("k")).execute(() -> {
			this.store.last("acquire 1").granted(10, 30_000);
			this.store.wakeUps.granted(lock("k"), ID + ":1", 20, 5000);
		});
		runCallbacks();
		assertThat(answer.join().isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	@DisplayName("A released nested lease stays released when its outer lease is lost")
	void releasedBeforeTheLoss() {
		LockLease outer = granted(REQUEST);
		CompletableFuture<LockLease> nested = this.service
			.acquireAsync(REQUEST.within(LeaseContext.empty().with(outer)));
		runCallbacks();
		LockLease inner = nested.join();
		CompletableFuture<ReleaseResult> released = inner.releaseAsync();
		runCallbacks();
		assertThat(released).isCompletedWithValue(ReleaseResult.RELEASED);
		this.engine.queues.renewer.onTokenLost(ID + ":1", "a test says so");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(inner::ensureHeld)
			.withMessageContaining("was released");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(outer::ensureHeld)
			.withMessageContaining("a test says so");
	}

	@Test
	@DisplayName("A crowd of requests for a key does not occupy its serving thread forever")
	void threadIsNotKept() {
		LockLease lease = granted(REQUEST);
		int crowd = 1000;
		List<CompletableFuture<LockLease>> waiting = new ArrayList<>();
		this.store.whileSending = (line) -> {
			// All requests arrive during the release.
			while (line.equals("release 1") && waiting.size() < crowd) {
				waiting.add(this.service.acquireAsync(LockRequest.of("k").waitTime(Duration.ofDays(1))));
			}
		};
		lease.releaseAsync();
		this.store.sent();
		this.store.last("release 1").released(true);
		assertThat(this.pending).as("another thread goes on").isNotEmpty();
		assertThat(this.engine.status().waiting()).isLessThan(crowd / 2);
		runCallbacks();
		assertThat(this.engine.status().waiting()).isEqualTo(crowd);
	}

	@Test
	@DisplayName("A store that throws fails only the request, and does not block the key")
	void storeThrows() {
		this.store.whileSending = (line) -> {
			throw new IllegalStateException("on purpose");
		};
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		runCallbacks();
		assertFailed(answer, LeaseStoreException.class);
		this.store.whileSending = (line) -> {
		};
		CompletableFuture<LockLease> again = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 2").granted(10, 30_000);
		runCallbacks();
		assertThat(again).isCompleted();
	}

	@Test
	@DisplayName("A request without waiting reports a store that has been silent for a while")
	void attemptBehindASilentStore() {
		this.service.acquireAsync(REQUEST);
		CompletableFuture<Optional<LockLease>> early = this.service.tryAcquireAsync(ONCE);
		this.store.elapse(800);
		CompletableFuture<Optional<LockLease>> late = this.service.tryAcquireAsync(ONCE);
		runCallbacks();
		assertThat(early.join()).isEmpty();
		assertFailed(late, LeaseStoreException.class);
	}

	@Test
	@DisplayName("All waiters for a silent store report the store, not only the first waiter")
	void allWaitersForASilentStore() {
		LockLease lease = granted(REQUEST);
		List<CompletableFuture<LockLease>> waiters = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			waiters.add(this.service.acquireAsync(REQUEST));
			this.store.elapse(10);
		}
		lease.releaseAsync();
		this.store.elapse(10_000);
		runCallbacks();
		assertThat(waiters).allSatisfy((waiter) -> assertFailed(waiter, LeaseStoreException.class));
	}

	@Test
	@DisplayName("A timeout before any answer reports the store, and a timeout after a busy answer the holder")
	void answeredAfterSilence() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST);
		this.store.elapse(1000);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		this.store.elapse(9000);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(1000);
		runCallbacks();
		assertFailed(first, LeaseStoreException.class);
		assertFailed(second, LockNotAcquiredException.class);
	}

	@Test
	@DisplayName("Work in flight gets nested leases during a shutdown, and no other leases")
	void nestedDuringShutDown() {
		this.store.whileSending = (line) -> {
			if (line.startsWith("acquire")) {
				this.store.last(line).granted(10, 30_000);
			}
		};
		LockLease outer = this.service.acquire(REQUEST);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(10));
		LockLease inner = this.service.acquire(REQUEST);
		assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
		assertThatExceptionOfType(LockNotAcquiredException.class)
			.isThrownBy(() -> this.service.acquire(LockRequest.of("other")))
			.matches((ex) -> ex.getReason() == Reason.SHUTDOWN);
		inner.releaseAsync();
		assertThat(shutDown).isNotDone();
		outer.releaseAsync();
		this.store.last("release 1").released(true);
		runCallbacks();
		assertThat(shutDown).isCompleted();
	}

	@Test
	@DisplayName("An engine resumed during the last release of its shutdown keeps listening")
	void resumedDuringShutDown() {
		this.store.listening = true;
		granted(REQUEST);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ZERO);
		this.store.elapse(0);
		ScriptedStore.Command release = this.store.last("release 1");
		this.engine.resume();
		release.released(true);
		runCallbacks();
		assertThat(shutDown).isCompleted();
		assertThat(this.store.isListening()).isTrue();
	}

	@Test
	@DisplayName("A short manual renewal neither shortens the lease nor delays the automatic renewal")
	void shortRenewalsByHand() {
		LockLease lease = granted(REQUEST);
		this.store.elapse(9_000);
		renewByHand(lease);
		assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(20));
		this.store.sent();
		this.store.elapse(1_000);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
	}

	@Test
	@DisplayName("A short manual renewal does not end the extension of a claim to a full lease")
	void shortRenewalOfAClaim() {
		CompletableFuture<LockLease> answer = queued(REQUEST.autoRenew(false), 10);
		this.store.wakeUps.granted(lock("k"), ID + ":1", 20, 3000);
		runCallbacks();
		renewByHand(answer.join());
		this.store.sent();
		this.store.elapse(1000);
		assertThat(this.store.sent()).containsExactly("renew 1 for 29000");
	}

	@ParameterizedTest
	@ValueSource(strings = { "PT0S", "PT-1S", "PT0.0009S", "P365DT1S", "PT2562047788015215H" })
	@DisplayName("extend() rejects a lease time out of bounds")
	void renewalOutOfBounds(Duration leaseTime) {
		LockLease lease = granted(REQUEST);
		assertThatIllegalArgumentException().isThrownBy(() -> lease.extend(leaseTime))
			.withMessageContaining(leaseTime.toString());
	}

	@Test
	@DisplayName("Leases, results of releases and losses reach their callers although no thread can be started at first")
	void withoutThread() {
		refuseNextThread();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.elapse(1000);
		assertThat(answer).isCompleted();
		List<String> lost = new ArrayList<>();
		answer.join().onLost(() -> lost.add("lost"));
		refuseNextThread();
		renewer().lose(renewer().holds().get(0), "on purpose");
		this.store.elapse(1000);
		assertThat(lost).containsExactly("lost");
		refuseNextThread();
		CompletableFuture<ReleaseResult> released = answer.join().releaseAsync();
		this.store.last("release 1").released(false);
		this.store.elapse(1000);
		assertThat(released).isCompletedWithValue(ReleaseResult.LOST);
		refuseNextThread();
		CompletableFuture<LockLease> several = this.service.acquireAsync(LockRequest.ofAll(List.of("a", "b")));
		this.store.last("acquire 2").granted(10, 30_000);
		this.store.elapse(1000);
		this.store.last("acquire 3").granted(10, 30_000);
		assertThat(several).isCompleted();
	}

	private void refuseNextThread() {
		this.callbacks = (task) -> {
			this.callbacks = Runnable::run;
			throw new OutOfMemoryError("unable to create native thread");
		};
	}

	private void renewByHand(LockLease lease) {
		CompletableFuture<Void> byHand = CompletableFuture.runAsync(() -> lease.extend(Duration.ofMillis(100)));
		this.store.answerNext("renew 1 for 100");
		byHand.join();
	}

	private LockLease granted(LockRequest request) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire 1").granted(10, 30_000);
		runCallbacks();
		return answer.join();
	}

	private void runCallbacks() {
		for (Runnable next = this.pending.poll(); next != null; next = this.pending.poll()) {
			next.run();
		}
	}

}
