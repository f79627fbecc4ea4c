package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Hand-over of permits within an instance, without the store.
 */
class PermitHandOverTests extends ScriptedPermits {

	// Heirs and their places

	@Test
	void theOldestWaiterIsTheHeirAndTheNextWaiterTakesItsPlace() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(3, ONE);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		this.store.last("acquire 4").busy(30_000, 15);
		assertThat(held.get(1).release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting.get(0).join().isHeld()).isTrue();
		assertThat(held.get(2).release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting.get(1).join().isHeld()).isTrue();
		assertThat(this.store.sent()).isEmpty();
		this.store.wakeUps.granted(SEMAPHORE, ID + ":4", 20, 5000);
		assertThat(waiting.get(2).join().isHeld()).isTrue();
		waiting.get(0).join().releaseAsync();
		waiting.get(2).join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 2", "release 4");
	}

	@Test
	void anAnswerAfterAHandOverCountsForTheCurrentWaiterOfThePlace() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(2, ONE);
		held.get(0).release();
		assertThat(waiting.get(0)).isCompleted();
		assertThat(waiting.get(1)).isNotDone();
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(waiting.get(1)).isCompleted();
	}

	@Test
	void aPlaceKeepsItsTimeToAskAgain() {
		List<PermitLease> held = all(ONE);
		request(2, ONE);
		this.store.last("acquire 4").busy(30_000, 15);
		this.store.elapse(4);
		held.get(0).release();
		this.store.sent();
		this.store.elapse(2495);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("acquire 4");
	}

	@Test
	void aGrantAtAnyPlaceIsForTheOldestWaiter() {
		List<CompletableFuture<PermitLease>> answers = request(LIMIT + 1, ONE);
		this.store.last("acquire 1").granted(10, 30_000);
		// Its place now belongs to the last waiter, behind two waiters.
		answers.get(0).join().release();
		this.store.sent();
		assertThat(answers.get(1)).isCompleted();
		this.store.wakeUps.granted(SEMAPHORE, ID + ":2", 11, 5000);
		assertThat(answers.get(2)).isCompleted();
		assertThat(answers.get(3)).isNotDone();
		this.store.last("acquire 3").granted(12, 30_000);
		assertThat(answers.get(3)).isCompleted();
	}

	@Test
	void thePlaceOfTheOnlyWaiterIsReleasedOnItsHandOver() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> waiting = request(ONE);
		held.get(0).release();
		assertThat(waiting.join().isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 4", "release 4");
		this.store.last("acquire 4").granted(20, 30_000);
		this.store.last("release 4").released(true);
		waiting.join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aPlaceWithOtherTermsIsNotTaken() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> first = request(ONE);
		request(ResourceQueue.MAX_PLACES - 1, ONE.autoRenew(false));
		CompletableFuture<PermitLease> behind = request(ONE.permits(2));
		this.store.sent();
		held.get(0).release();
		assertThat(first).isCompleted();
		String last = " next " + (LIMIT + ResourceQueue.MAX_PLACES + 1);
		assertThat(this.store.sent()).containsExactly("release 4" + last);
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(behind).isNotDone();
	}

	@Test
	void noWaiterIsPassedByALaterWaiter() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> big = request(ONE.permits(2));
		CompletableFuture<PermitLease> small = request(ONE);
		this.store.sent();
		held.get(0).releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		assertThat(List.of(big, small)).noneMatch(CompletableFuture::isDone);
	}

	@Test
	void theStoreDecidesAfterTheMaximumCount() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(COUNT + 2, ONE);
		held.get(0).release();
		for (int i = 0; i < COUNT; i++) {
			waiting.get(i).join().releaseAsync();
		}
		assertThat(this.store.sent()).containsExactly("acquire 4", "release 1 next 8");
		assertThat(waiting.get(COUNT)).isNotDone();
		this.store.wakeUps.granted(SEMAPHORE, ID + ":4", 20, 5000);
		assertThat(waiting.get(COUNT)).isCompleted();
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void handedOverPermitsKeepTheFenceOfTheirGrant() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = request(ONE);
		held.get(0).release();
		assertThat(((LeaseHandle) next.join()).hold.fence).isEqualTo(11);
	}

	// Permits without a hand-over

	@Test
	void aPermitOfAnotherLimitIsNotHandedOver() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = request(
				SemaphoreRequest.of("k", LIMIT - 1).waitTime(ONE.waitTime()).leaseTime(ONE.leaseTime()));
		held.get(0).releaseAsync();
		assertThat(next).isNotDone();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void permitsWithAFailedRenewalAreNotHandedOver() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = request(ONE);
		((LeaseHandle) held.get(0)).hold.onRenewalFailed("trouble");
		held.get(0).releaseAsync();
		assertThat(next).isNotDone();
	}

}
