package io.holdfast.engine.queue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.lease.PendingAcquisition;
import io.holdfast.engine.request.EngineSettings;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.HandOverLimits;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The rules of going before a thread that wakes up for a lock that was released.
 */
class LockBargingTests extends ScriptedEngine {

	private static final LockRequest UNFAIR = REQUEST.fair(false);

	LockBargingTests() {
		super(EngineSettings.defaults().localHandOver(new HandOverLimits(16, Duration.ofMillis(5))));
	}

	/** A thread asks, and waits. */
	private PendingAcquisition blocked(LockRequest request) {
		PendingAcquisition acquisition = acquire(this.engine, ResolvedRequest.of(request, settings()), new Thread(),
				LeaseContext.empty());
		acquisition.markBlocked();
		return acquisition;
	}

	private LockLease ask() {
		return this.service.acquireAsync(UNFAIR).join();
	}

	private static boolean isCalled(PendingAcquisition waiting) {
		return waiting.markBlocked().isDone() && !waiting.result().isDone();
	}

	private static LockLease lease(PendingAcquisition acquisition) {
		assertThat(acquisition.result()).isCompleted();
		return (LockLease) acquisition.result().join();
	}

	@Test
	void aThreadIsCalledForWhatIsReleased() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		assertThat(isCalled(waiting)).isTrue();
		waiting.claimOffer();
		assertThat(lease(waiting).fencingToken()).isEqualTo(101);
		lease(waiting).releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void whoComesInBetweenGoesFirstWithAHigherFence() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		for (int turn = 1; turn <= 10; turn++) {
			LockLease before = ask();
			assertThat(before.fencingToken()).isEqualTo(100 + turn);
			assertThat(before.isHeld()).isTrue();
			before.release();
			assertThat(before.isHeld()).isFalse();
		}
		waiting.claimOffer();
		assertThat(lease(waiting).fencingToken()).isEqualTo(111);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void whoDoesNotWaitGoesFirstToo() {
		LockLease held = granted(UNFAIR, 100);
		blocked(UNFAIR);
		held.release();
		assertThat(this.service.tryAcquireAsync(UNFAIR.waitTime(Duration.ZERO)).join()).isPresent();
	}

	@Test
	void oneAtATimeHoldsIt() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		ask();
		assertThat(this.service.acquireAsync(UNFAIR)).isNotDone();
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
	}

	@Test
	void whoCameInVainIsPassedOnWhatIsReleasedNext() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		LockLease before = ask();
		waiting.claimOffer();
		before.release();
		assertThat(lease(waiting).fencingToken()).isEqualTo(102);
	}

	@Test
	void whoGoesFirstDoesNotCountAmongThoseThatItIsPassedOnTo() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		for (int i = 0; i < 20; i++) {
			ask().release();
		}
		waiting.claimOffer();
		for (int turn = 2; turn <= 16; turn++) {
			PendingAcquisition next = blocked(UNFAIR);
			lease(waiting).releaseAsync();
			next.claimOffer();
			waiting = next;
		}
		PendingAcquisition last = blocked(UNFAIR);
		this.store.sent();
		lease(waiting).releaseAsync();
		last.claimOffer();
		assertThat(last.result()).isNotDone();
		assertThat(this.store.sent()).hasSize(1).allMatch((command) -> command.startsWith("release 1 next"));
	}

	@Test
	void itGoesToTheStoreWhenNoFencesAreLeft() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		LockLease before = null;
		for (int turn = 1; turn < HandOverLimits.STRIDE; turn++) {
			before = ask();
			assertThat(before.fencingToken()).isEqualTo(100 + turn);
			before.releaseAsync();
		}
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
		CompletableFuture<LockLease> late = this.service.acquireAsync(UNFAIR);
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
		this.store.last("release 1 next 2").granted(164, 30_000);
		assertThat(lease(waiting).fencingToken()).isEqualTo(164);
		assertThat(late).isNotDone();
	}

	@Test
	void aFairRequestNeitherGoesFirstNorIsCalled() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		PendingAcquisition fair = blocked(REQUEST);
		assertThat(fair.markBlocked()).isSameAs(fair.result());
		waiting.claimOffer();
		lease(waiting).release();
		assertThat(lease(fair).fencingToken()).isEqualTo(102);
	}

	@Test
	void aFairRequestGoesOnWithWhatWasNotFair() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition fair = blocked(REQUEST);
		PendingAcquisition unfair = blocked(UNFAIR);
		held.release();
		lease(fair).release();
		assertThat(isCalled(unfair)).isTrue();
	}

	@Test
	void onlyWhoAsksForTheSameLeaseGoesFirst() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		assertThat(this.service.acquireAsync(UNFAIR.leaseTime(Duration.ofSeconds(20)))).isNotDone();
		assertThat(this.service.acquireAsync(UNFAIR.autoRenew(false))).isNotDone();
		waiting.claimOffer();
		assertThat(waiting.result()).isCompleted();
	}

	@Test
	void noRequestGoesFirstForLong() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		this.store.elapse(1);
		CompletableFuture<LockLease> late = this.service.acquireAsync(UNFAIR);
		assertThat(late).isNotDone();
		waiting.claimOffer();
		lease(waiting).release();
		assertThat(late).isCompleted();
	}

	@Test
	void noWaiterIsCalledInStrictOrder() {
		LeaseEngine strict = new LeaseEngine(this.store, EngineSettings.defaults().localHandOver(HandOverLimits.NONE),
				this.store, Runnable::run, () -> ID, () -> 1.0);
		DefaultLockService service = new DefaultLockService(strict);
		CompletableFuture<LockLease> held = service.acquireAsync(UNFAIR);
		this.store.last("acquire 1").granted(100, 30_000);
		PendingAcquisition waiting = acquire(strict, ResolvedRequest.of(UNFAIR, settings()), new Thread(),
				LeaseContext.empty());
		waiting.markBlocked();
		held.join().releaseAsync();
		assertThat(isCalled(waiting)).isFalse();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
	}

	@Test
	void readersAndWritersAreServedInTheirOrder() {
		PendingAcquisition reader = blocked(UNFAIR.mode(LockMode.READ));
		PendingAcquisition writer = blocked(UNFAIR.mode(LockMode.EXCLUSIVE));
		assertThat(reader.markBlocked()).isSameAs(reader.result());
		assertThat(writer.markBlocked()).isSameAs(writer.result());
	}

	@Test
	void oneOfSeveralKeysIsNotCalledForButMayGoFirst() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition joint = blocked(LockRequest.ofAll(List.of("k", "l")).fair(false).waitForever());
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		this.store.last("acquire 4").granted(7, 30_000);
		assertThat(joint.result()).isCompleted();
		((LockLease) joint.result().join()).releaseAsync();
		assertThat(isCalled(waiting)).isTrue();
		PendingAcquisition before = blocked(LockRequest.ofAll(List.of("k", "l")).fair(false).waitForever());
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
		before.interrupt(new InterruptedException());
		assertThat(waiting.result()).isCompleted();
	}

	@Test
	void aThreadThatIsBlockedComesByItself() throws Exception {
		LockLease held = granted(UNFAIR, 100);
		CompletableFuture<LockLease> answer = CompletableFuture.supplyAsync(() -> this.service.acquire(UNFAIR));
		await().until(() -> coordinators().waiters().join().stream().anyMatch(Waiter::isBlocked));
		held.release();
		assertThat(answer.get(10, TimeUnit.SECONDS).isHeld()).isTrue();
	}

	@Test
	void whatTheCalledOneDoesNotComeForIsForTheNext() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		PendingAcquisition next = blocked(UNFAIR);
		held.release();
		waiting.interrupt(new InterruptedException());
		assertThat(isCalled(next)).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		next.claimOffer();
		assertThat(next.result()).isCompleted();
	}

	@Test
	void whatTheOnlyOneThatWaitedDoesNotComeForIsReleased() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR.waitTime(Duration.ofSeconds(1)));
		held.release();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.elapse(1000);
		assertThat(waiting.result()).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("release 1");
		waiting.claimOffer();
		this.store.last("release 1").released(true);
		assertThat(isIdle()).isTrue();
	}

	@Test
	void whoComesAfterTheTurnOfItsInstanceStandsInTheStoresQueue() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		this.store.pause(6);
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
		this.store.last("release 1 next 2").granted(164, 30_000);
		assertThat(lease(waiting).fencingToken()).isEqualTo(164);
	}

	@Test
	void whatIsOfferedAndGoneInTheStoreIsNotPassedOn() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		CompletableFuture<Void> renewal = renewer().renewNow(renewer().holds(), 30_000);
		held.release();
		this.store.last("renew 1").renewed(false);
		assertThat(renewal).isCompleted();
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1", "renew 1 for 30000", "release 1 next 2");
	}

	@Test
	void whatIsReleasedByForceWhileItIsOfferedIsNotPassedOn() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		held.release();
		this.store.answerAtOnce("inspect", (command) -> command.owned(ID + ":1"));
		this.store.answerAtOnce("force 1", (command) -> {
			waiting.claimOffer();
			command.forced(true);
		});
		assertThat(this.service.forceRelease("k")).isTrue();
		assertThat(waiting.result()).isNotDone();
	}

	@Test
	void aShutDownReleasesWhatIsOffered() {
		LockLease held = granted(UNFAIR, 100);
		PendingAcquisition waiting = blocked(UNFAIR);
		PendingAcquisition next = blocked(UNFAIR);
		held.release();
		this.engine.shutDown(Duration.ofSeconds(1));
		assertThat(waiting.result()).isCompletedExceptionally();
		assertThat(next.result()).isCompletedExceptionally();
		waiting.claimOffer();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void aThreadEntersAgainWhatItHasAlthoughAWaiterIsCalled() {
		LockLease held = granted(UNFAIR, 100);
		blocked(UNFAIR);
		held.release();
		LockLease before = this.service.acquire(UNFAIR);
		LockLease nested = this.service.acquire(UNFAIR);
		assertThat(nested.fencingToken()).isEqualTo(before.fencingToken()).isEqualTo(101);
		nested.release();
		assertThat(before.isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

}
