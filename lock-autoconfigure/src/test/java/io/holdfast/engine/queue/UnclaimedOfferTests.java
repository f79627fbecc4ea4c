package io.holdfast.engine.queue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.engine.lease.LeaseHandle;
import io.holdfast.engine.lease.PendingAcquisition;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The rules of what was offered to a thread that does not come for it, or too late.
 */
class UnclaimedOfferTests extends OfferedPermits {

	@Test
	void whoLeavesItsPlaceInTheStoresQueueLeavesWhatIsOfferedToo() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		PendingAcquisition next = blocked(UNFAIR);
		this.store.last("acquire 3").busy(30_000, 15);
		this.store.sent();
		held.get(0).release();
		waiting.interrupt(new InterruptedException());
		assertThat(this.store.sent()).isEmpty();
		assertThat(isCalled(next)).isTrue();
	}

	@Test
	void whatTheCalledOneDoesNotComeForIsForTheNext() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		PendingAcquisition next = blocked(UNFAIR);
		PendingAcquisition last = blocked(UNFAIR);
		held.get(0).release();
		waiting.interrupt(new InterruptedException());
		assertThat(isCalled(next)).isTrue();
		next.interrupt(new InterruptedException());
		last.claimOffer();
		assertThat(last.result()).isCompleted();
	}

	@Test
	void whatTheOnlyOneThatWaitedDoesNotComeForIsReleased() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		this.store.last("acquire 3").busy(30_000, 15);
		this.store.sent();
		held.get(0).release();
		assertThat(this.store.sent()).isEmpty();
		waiting.interrupt(new InterruptedException());
		assertThat(this.store.sent()).containsExactlyInAnyOrder("release 1", "release 3");
		waiting.claimOffer();
		held.get(1).releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 2");
		this.store.last("release 1").released(true);
		this.store.last("release 2").released(true);
		this.store.last("release 3").released(true);
		assertThat(isIdle()).isTrue();
	}

	@Test
	void whatIsOfferedIsReleasedIfTheWaitIsOver() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR.waitTime(Duration.ofSeconds(1)));
		this.store.last("acquire 3").busy(30_000, 15);
		held.get(0).release();
		this.store.sent();
		this.store.elapse(1000);
		assertThat(waiting.result()).isCompletedExceptionally();
		assertThat(this.store.sent()).contains("release 1", "release 3");
	}

	@Test
	void whoComesAfterTheTurnOfItsInstanceStandsInTheQueueOnly() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		this.store.last("acquire 3").busy(30_000, 15);
		this.store.sent();
		held.get(0).release();
		this.store.pause(6);
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.wakeUps.granted(SEMAPHORE, ID + ":3", 20, 5000);
		assertThat(waiting.result()).isCompleted();
	}

	@Test
	void whomTheStoreGrantsItIsNotWaitedFor() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		PendingAcquisition next = blocked(UNFAIR);
		this.store.last("acquire 3").busy(30_000, 15);
		held.get(0).release();
		this.store.wakeUps.granted(SEMAPHORE, ID + ":3", 20, 5000);
		assertThat(waiting.result()).isCompleted();
		assertThat(isCalled(next)).isTrue();
		waiting.claimOffer();
		next.claimOffer();
		assertThat(next.result()).isCompleted();
	}

	@Test
	void aShutDownReleasesWhatIsOffered() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		PendingAcquisition next = blocked(UNFAIR);
		this.store.last("acquire 3").busy(30_000, 15);
		this.store.sent();
		held.get(0).release();
		this.engine.shutDown(Duration.ofSeconds(1));
		assertThat(waiting.result()).isCompletedExceptionally();
		assertThat(next.result()).isCompletedExceptionally();
		waiting.claimOffer();
		assertThat(this.store.sent()).containsExactlyInAnyOrder("release 3", "release 1");
	}

	@Test
	void whatIsOfferedAndGoneInTheStoreIsNotPassedOn() {
		List<PermitLease> held = both();
		PendingAcquisition waiting = blocked(UNFAIR);
		this.store.last("acquire 3").busy(30_000, 15);
		this.store.sent();
		CompletableFuture<Void> renewal = renewer().renewNow(List.of(((LeaseHandle) held.get(0)).hold), 30_000);
		held.get(0).release();
		this.store.last("renew 1").renewed(false);
		assertThat(renewal).isCompleted();
		waiting.claimOffer();
		assertThat(waiting.result()).isNotDone();
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000", "release 1");
	}

}
