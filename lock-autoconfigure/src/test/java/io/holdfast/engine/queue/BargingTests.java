package io.holdfast.engine.queue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.lease.PendingAcquisition;
import io.holdfast.engine.observe.RecordingObserver;
import io.holdfast.engine.view.BlockingAcquirer;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * The rules of going before a thread that wakes up for what was released.
 */
class BargingTests extends OfferedPermits {

	@Test
	void aThreadIsCalledForWhatIsReleased() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		assertThat(waiting.markBlocked()).isNotDone();
		this.store.sent();
		held.get(0).release();
		assertThat(isCalled(waiting)).isTrue();
		waiting.claimOffer();
		assertThat(waiting.result()).isCompleted();
		lease(waiting).releaseAsync();
		held.get(1).releaseAsync();
		// The third token is that by which it stood in the queue.
		assertThat(this.store.sent()).containsExactly("release 3", "release 1", "release 2");
	}

	@Test
	void whoComesInBetweenGoesFirst() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		this.store.sent();
		held.get(0).release();
		CompletableFuture<PermitLease> second = this.semaphores.acquireAsync(UNFAIR);
		assertThat(second).isCompleted();
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void whoGoesFirstIsCountedAsThat() {
		RecordingObserver observer = new RecordingObserver();
		this.engine.observe(observer);
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		PermitLease before = this.semaphores.acquireAsync(UNFAIR).join();
		assertThat(observer.told()).contains("handed over SEMAPHORE BARGED")
			.doesNotContain("handed over SEMAPHORE LOCAL");
		waiting.claimOffer();
		before.release();
		// Its thread tells that when it has the lease.
		Objects.requireNonNull(waiting.observation()).tell(true);
		assertThat(observer.told()).contains("handed over SEMAPHORE LOCAL")
			.doesNotContain("handed over SEMAPHORE BARGED");
	}

	@Test
	void whoCameInVainIsPassedOnWhatIsReleasedNext() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		CompletableFuture<PermitLease> second = this.semaphores.acquireAsync(UNFAIR);
		waiting.claimOffer();
		second.join().release();
		assertThat(waiting.result()).isCompleted();
	}

	@Test
	void anotherReleaseIsOfferedWithoutASecondCall() {
		List<PermitLease> held = both();
		PendingAcquisition first = blocked(UNFAIR);
		PendingAcquisition second = blocked(UNFAIR);
		held.get(0).release();
		this.semaphores.acquireAsync(UNFAIR).join();
		held.get(1).release();
		assertThat(isCalled(second)).isFalse();
		assertThat(second.result()).isNotDone();
		first.claimOffer();
		assertThat(first.result()).isCompleted();
	}

	@Test
	void whoIsOnItsWayAloneIsGoneBeforeAgain() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		for (int i = 0; i < 10; i++) {
			this.semaphores.acquireAsync(UNFAIR).join().release();
			assertThat(waiting.result()).isNotDone();
		}
		waiting.claimOffer();
		assertThat(waiting.result()).isCompleted();
	}

	@Test
	void whoGoesFirstDoesNotCountAmongThoseThatItIsPassedOnTo() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		for (int i = 0; i < 100; i++) {
			this.semaphores.acquireAsync(UNFAIR).join().release();
		}
		waiting.claimOffer();
		assertThat(waiting.result()).isCompleted();
		for (int turn = 2; turn <= 16; turn++) {
			waiting = succeed(waiting);
			assertThat(waiting.result()).isCompleted();
		}
		assertThat(succeed(waiting).result()).isNotDone();
	}

	/** One more thread waits, and comes when the one before releases. */
	private PendingAcquisition succeed(PendingAcquisition before) {
		PendingAcquisition next = blocked(UNFAIR);
		lease(before).releaseAsync();
		next.claimOffer();
		return next;
	}

	@Test
	void whatNoWaiterWasCalledForIsPassedOnAsEver() {
		List<PermitLease> held = both();
		PendingAcquisition called = blocked(UNFAIR);
		CompletableFuture<PermitLease> waiting = this.semaphores.acquireAsync(UNFAIR);
		held.get(0).release();
		this.semaphores.acquireAsync(UNFAIR).join();
		held.get(1).release();
		assertThat(waiting).isCompleted();
		assertThat(isCalled(called)).isTrue();
	}

	@Test
	void oneIsCalledAtATimeAndOthersArePassedOnAsEver() {
		List<PermitLease> held = both();
		PendingAcquisition first = blocked(UNFAIR);
		PendingAcquisition second = blocked(UNFAIR);
		held.get(0).release();
		held.get(1).release();
		assertThat(isCalled(first)).isTrue();
		assertThat(second.result()).isCompleted();
	}

	@Test
	void whoCameInVainIsNotPassedByOneThatIsOnItsWay() {
		List<PermitLease> held = both();
		PendingAcquisition first = blocked(UNFAIR);
		PendingAcquisition second = blocked(UNFAIR);
		held.get(0).release();
		PermitLease before = this.semaphores.acquireAsync(UNFAIR).join();
		first.claimOffer();
		before.release();
		lease(first).release();
		assertThat(isCalled(second)).isTrue();
	}

	@Test
	void whoCameInVainBehindAllThatMayAskIsPassedOnWhatIsReleasedNext() {
		List<PermitLease> held = both();
		for (int i = 0; i < PermitCoordinator.MAX_CONTENDERS; i++) {
			this.semaphores.tryAcquireAsync(UNFAIR.waitTime(Duration.ZERO));
		}
		assertThat(this.store.sent()).hasSize(PermitCoordinator.MAX_CONTENDERS);
		PendingAcquisition first = blocked(UNFAIR);
		assertThat(this.store.sent()).isEmpty();
		held.get(0).release();
		PermitLease before = this.semaphores.acquireAsync(UNFAIR).join();
		first.claimOffer();
		PendingAcquisition second = blocked(UNFAIR);
		before.release();
		assertThat(first.result()).isCompleted();
		held.get(1).release();
		assertThat(isCalled(second)).isTrue();
	}

	@Test
	void aFairRequestNeitherGoesFirstNorIsCalled() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		PendingAcquisition fair = blocked(UNFAIR.fair(true));
		assertThat(fair.markBlocked()).isSameAs(fair.result());
		assertThat(fair.result()).isNotDone();
		waiting.claimOffer();
		assertThat(waiting.result()).isCompleted();
		held.get(1).release();
		assertThat(fair.result()).isCompleted();
	}

	@Test
	void onlyWhatAsksForTheSameGoesFirst() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		assertThat(this.semaphores.acquireAsync(UNFAIR.permits(2))).isNotDone();
		assertThat(this.semaphores.acquireAsync(UNFAIR.leaseTime(Duration.ofSeconds(20)))).isNotDone();
		assertThat(this.semaphores.acquireAsync(UNFAIR.autoRenew(false))).isNotDone();
		assertThat(this.semaphores.acquireAsync(SemaphoreRequest.of("k", 3).fair(false).waitForever())).isNotDone();
		waiting.claimOffer();
		assertThat(waiting.result()).isCompleted();
	}

	@Test
	void noRequestGoesFirstForLong() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		this.store.elapse(1);
		CompletableFuture<PermitLease> late = this.semaphores.acquireAsync(UNFAIR);
		assertThat(late).isNotDone();
		waiting.claimOffer();
		assertThat(waiting.result()).isCompleted();
		lease(waiting).release();
		assertThat(late).isCompleted();
	}

	@Test
	void anAsynchronousRequestIsNotCalled() {
		List<PermitLease> held = both();
		CompletableFuture<PermitLease> waiting = this.semaphores.acquireAsync(UNFAIR);
		held.get(0).release();
		assertThat(waiting).isCompleted();
	}

	@Test
	void aThreadThatIsBlockedComesByItself() throws Exception {
		List<PermitLease> held = both();
		CompletableFuture<PermitLease> answer = CompletableFuture.supplyAsync(() -> this.semaphores.acquire(UNFAIR));
		await().until(() -> coordinators().waiters().join().stream().anyMatch(Waiter::isBlocked));
		held.get(0).release();
		assertThat(answer.get(10, TimeUnit.SECONDS).isHeld()).isTrue();
	}

	@Test
	void aThreadThatIsInterruptedComesAllTheSameIfThatDoesNotEndItsWait() throws Exception {
		List<PermitLease> held = both();
		CompletableFuture<Boolean> kept = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			BlockingAcquirer
				.ofPermits(context(), (requests, asking, leases) -> acquire(this.engine, requests, asking, leases))
				.awaitUninterruptibly(UNFAIR);
			kept.complete(Thread.interrupted());
		});
		this.store.answerAtOnce("acquire 3", (command) -> command.busy(30_000, 15));
		thread.setDaemon(true);
		thread.start();
		await().until(() -> !coordinators().waiters().join().isEmpty());
		thread.interrupt();
		held.get(0).release();
		assertThat(kept.get(10, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void noMoreContendWhileSomethingIsOffered() {
		// The other permit is held by another instance.
		CompletableFuture<PermitLease> held = this.semaphores.acquireAsync(UNFAIR);
		this.store.last("acquire 1").granted(10, 30_000);
		PendingAcquisition waiting = blocked(UNFAIR);
		blocked(UNFAIR);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2");
		held.join().release();
		assertThat(isCalled(waiting)).isTrue();
		this.store.elapse(1);
		blocked(UNFAIR);
		this.store.last("acquire 2").busy(30_000, 15);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void whoIsRefusedIsTold() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR.waitTime(Duration.ofSeconds(1)));
		this.store.last("acquire 3").busy(30_000, 15);
		this.store.elapse(1000);
		assertThat(waiting.markBlocked()).isCompleted();
		assertThatThrownBy(waiting.result()::join).hasMessageContaining("k");
		held.forEach(PermitLease::releaseAsync);
	}

	@Test
	void noRequestGoesFirstOrComesOnceAShutDownHasBegun() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		held.get(0).release();
		List<CompletableFuture<PermitLease>> late = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			// Those of some are told before those of what is offered.
			this.semaphores.acquireAsync(SemaphoreRequest.of("other " + i, 1).waitTime(Duration.ofSeconds(10)))
				.whenComplete((lease, error) -> {
					late.add(this.semaphores.acquireAsync(UNFAIR));
					waiting.claimOffer();
				});
		}
		this.engine.shutDown(Duration.ofSeconds(1));
		assertThat(late).hasSize(20).allMatch(CompletableFuture::isCompletedExceptionally);
		assertThat(waiting.result()).isCompletedExceptionally();
	}

}
