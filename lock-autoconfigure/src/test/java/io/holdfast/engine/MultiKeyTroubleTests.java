package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Losses and failures of the store during waits for several keys.
 */
class MultiKeyTroubleTests extends ScriptedEngine {

	private static final LockRequest BOTH = LockRequest.ofAll(List.of("a", "b"))
		.waitTime(Duration.ofSeconds(20))
		.leaseTime(Duration.ofSeconds(30));

	@Test
	void theLossOfAKeyEndsTheWaitForTheNextKey() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(BOTH);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.elapse(10_000);
		this.store.sent();
		this.store.last("renew 1").renewed(false);
		assertLost(answer);
		assertThat(this.store.sent()).contains("release 1", "release 2");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aLossDetectedByTheLastRenewalFailsTheRequest() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(BOTH.autoRenew(false));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.sent();
		this.store.last("renew 1 for 30000 2 for 30000").renewed(false, true);
		assertLost(answer);
		assertThat(this.store.sent()).contains("release 1", "release 2");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void anUndetectedExpiryOfAKeyFailsTheRequest() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(BOTH);
		this.store.last("acquire 1").granted(10, 30_000);
		// The whole process stood still.
		this.store.pause(29_698);
		this.store.last("acquire 2").granted(20, 60_000);
		assertLost(answer);
	}

	@Test
	void aLossOfTheThreadFailsTheRequestAtItsKey() {
		LockLease own = this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST.only("b")));
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		this.store.sent();
		this.store.answerAtOnce("acquire 2", (command) -> command.granted(20, 30_000));
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.service.acquire(BOTH))
			.withMessageContaining("Lock 'b' was not acquired again");
		assertThat(this.store.sent()).containsExactly("acquire 2", "release 2");
		own.releaseAsync();
	}

	@Test
	void aFailedRequestLeavesNoHoldForTheNextRequestOfItsThread() {
		Thread thread = new Thread();
		PendingAcquisition<?> first = acquire(BOTH, thread);
		this.store.last("acquire 1").granted(10, 30_000);
		CompletableFuture<PendingAcquisition<?>> second = new CompletableFuture<>();
		// As early as possible.
		first.result.whenComplete((lease, error) -> second.complete(acquire(BOTH, thread)));
		this.store.elapse(20_000);
		assertThat(this.store.sent()).contains("release 1", "acquire 3");
		this.store.last("acquire 3").granted(20, 30_000);
		this.store.last("acquire 4").granted(30, 30_000);
		assertThat(fences(second.join())).containsExactly(20L, 30L);
	}

	@Test
	void anInterruptedRequestLeavesNoFreshGrantForTheNextRequestOfItsThread() {
		List<Runnable> queued = new ArrayList<>();
		this.callbacks = queued::add;
		Thread thread = new Thread();
		PendingAcquisition<?> first = acquire(BOTH, thread);
		this.store.last("acquire 1").granted(10, 30_000);
		first.interrupt(null);
		PendingAcquisition<?> second = acquire(BOTH, thread);
		// The second request waits in the instance for the release.
		assertThat(this.store.sent()).containsExactly("acquire 1");
		runAll(queued);
		assertThat(this.store.sent()).containsExactly("release 1 next 2");
		assertThat(second.result).isNotDone();
	}

	@Test
	void anInterruptDuringTheGrantOfTheNextKeyLeavesNoHoldForItsThread() {
		List<Runnable> queued = new ArrayList<>();
		List<PendingAcquisition<?>> acquisitions = new ArrayList<>();
		Thread thread = new Thread();
		this.callbacks = (action) -> {
			queued.add(action);
			// As early as possible.
			if (acquisitions.size() == 1 && acquisitions.get(0).result.isDone()) {
				acquisitions.add(acquire(REQUEST.only("b"), thread));
			}
		};
		acquisitions.add(acquire(BOTH, thread));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.answerAtOnce("acquire 2", (command) -> command.granted(20, 30_000));
		this.store.whileSending = (line) -> {
			if (line.equals("acquire 2")) {
				acquisitions.get(0).interrupt(null);
			}
		};
		runAll(queued);
		assertThat(acquisitions.get(1).result).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "release 1", "release 2 next 3");
	}

	@Test
	void aLossBeforeTheNextKeyIsRequestedEndsTheRequest() {
		List<Runnable> queued = new ArrayList<>();
		AtomicBoolean atOnce = new AtomicBoolean();
		this.callbacks = (action) -> {
			if (atOnce.get()) {
				action.run();
			}
			else {
				queued.add(action);
			}
		};
		PendingAcquisition<?> acquisition = acquire(BOTH, new Thread());
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		this.store.sent();
		atOnce.set(true);
		runAll(queued);
		assertThat(acquisition.result).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("release 1");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aLossLeavesNoFreshGrantForTheNextRequestOfItsThread() {
		List<Runnable> queued = new ArrayList<>();
		this.callbacks = queued::add;
		Thread thread = new Thread();
		PendingAcquisition<?> first = acquire(BOTH, thread);
		this.store.last("acquire 1").granted(10, 30_000);
		runAll(queued);
		this.store.elapse(10_000);
		CompletableFuture<PendingAcquisition<?>> second = new CompletableFuture<>();
		first.result.whenComplete((lease, error) -> second.complete(acquire(REQUEST.only("b"), thread)));
		this.store.last("renew 1").renewed(false);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.sent();
		runAll(queued);
		assertThat(this.store.sent()).contains("release 2 next 3");
		assertThat(second.join().result).isNotDone();
	}

	@Test
	void aSlowStoreIsNotReportedAsABusyKey() {
		LockRequest once = BOTH.waitTime(Duration.ZERO);
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(once);
		this.store.elapse(800);
		this.store.last("acquire 1 at once").granted(10, 30_000);
		this.store.elapse(200);
		assertSilence(answer);
		answer = this.service.tryAcquireAsync(BOTH.waitTime(Duration.ofMillis(400)));
		this.store.elapse(250);
		this.store.last("acquire 3").granted(10, 30_000);
		this.store.elapse(150);
		assertSilence(answer);
	}

	@Test
	void aShortWaitLeavesTimeForTheAnswerToTheNextKey() {
		CompletableFuture<Optional<LockLease>> answer = this.service
			.tryAcquireAsync(BOTH.waitTime(Duration.ofMillis(100)));
		this.store.elapse(150);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.elapse(99);
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(answer).isCompletedWithValueMatching(Optional::isPresent);
		answer.join().orElseThrow().discardAsync();
		answer = this.service.tryAcquireAsync(BOTH.waitTime(Duration.ofMillis(400)));
		this.store.elapse(399);
		this.store.pause(1);
		this.store.last("acquire 3").granted(30, 30_000);
		this.store.elapse(1);
		assertSilence(answer);
	}

	@Test
	void aWaitBehindAHolderIsReportedAsABusyKey() {
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(BOTH);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(19_900);
		this.store.last("acquire 1").granted(20, 30_000);
		this.store.elapse(100);
		assertThat(answer).as("a holder in another instance").isCompletedWithValue(Optional.empty());
		this.store.last("release 1").released(true);
		LockLease other = granted(REQUEST.only("a"), 30);
		answer = this.service.tryAcquireAsync(BOTH);
		this.store.elapse(9900);
		other.releaseAsync();
		this.store.elapse(9900);
		this.store.last("acquire 4").granted(40, 30_000);
		this.store.elapse(200);
		assertThat(answer).as("a holder in this instance").isCompletedWithValue(Optional.empty());
	}

	@Test
	void anErrorAfterTheLastKeyReleasesAllKeys() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(BOTH.autoRenew(false));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.whileFindingPart = ScriptedStore::fail;
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(answer).isCompletedExceptionally();
		assertThat(this.store.sent()).contains("release 1", "release 2");
		assertThat(isIdle()).isTrue();
	}

	private static void runAll(List<Runnable> actions) {
		while (!actions.isEmpty()) {
			actions.remove(0).run();
		}
	}

	private static List<Long> fences(PendingAcquisition<?> acquisition) {
		LockLease lease = (LockLease) acquisition.result.join();
		return List.of(lease.fencingToken("a"), lease.fencingToken("b"));
	}

	private static void assertSilence(CompletableFuture<?> answer) {
		assertFailed(answer, LeaseStoreException.class, "Lock 'b' was not acquired", "did not answer");
	}

	private static void assertLost(CompletableFuture<LockLease> answer) {
		assertFailed(answer, LeaseLostException.class,
				"The lease of lock 'a' (fencing token 10) was lost while other keys of the same request were waited for");
	}

}
