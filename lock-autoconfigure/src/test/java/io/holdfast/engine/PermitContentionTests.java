package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.store.InstanceStore.Asked;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Places of waiters for permits in the store's queue.
 */
class PermitContentionTests extends ScriptedPermits {

	@Test
	void waitersContendUpToTheLimit() {
		request(LIMIT + 2, ONE);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aWaiterContendsThoughItsInstanceHoldsAllPermits() {
		all(ONE);
		request(2, ONE);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire 5");
	}

	@Test
	void aWaiterCancelledBeforeTheFirstAnswerLeavesItsPlaceToTheNextWaiter() {
		all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(3, ONE);
		waiting.get(0).cancel(false);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		// A failure ends only the request at the place.
		this.store.last("acquire 4").fail(false);
		assertThat(waiting.get(1)).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("acquire 4");
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(waiting.get(2)).isCompleted();
	}

	@Test
	void aWaiterCancelledInTheStoresQueueLeavesItsPlaceToTheNextWaiter() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(3, ONE);
		this.store.last("acquire 4").busy(30_000, 15);
		this.store.sent();
		waiting.get(0).cancel(false);
		assertThat(this.store.sent()).isEmpty();
		this.store.wakeUps.granted(SEMAPHORE, ID + ":4", 20, 5000);
		assertThat(waiting.get(1)).isCompleted();
		assertThat(waiting.get(2)).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 6");
		waiting.get(2).cancel(false);
		assertThat(this.store.sent()).containsExactly("release 6");
		waiting.get(1).join().releaseAsync();
		held.forEach(PermitLease::releaseAsync);
		assertThat(this.store.sent()).containsExactly("release 4", "release 1", "release 2", "release 3");
	}

	@Test
	void reportsNameTheHeirOfAPlaceByTheNumberOfThePlace() {
		this.store.answerAtOnce("ask", (question) -> question.done(new Asked(List.of(), List.of())));
		all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(3, ONE.name("second"));
		this.store.last("acquire 4").busy(30_000, 15);
		waiting.get(0).cancel(false);
		TokenState place = new TokenState(ID + ":4", 1, 0);
		FleetReport report = Fleet.of(this.engine).reports("k");
		assertThat(report.find(place)).isNotNull().extracting(Entry::name).isEqualTo("second");
		Standing standing = new Standing(SEMAPHORE, 0, 0, null, LIMIT, LIMIT, LIMIT, List.of(), 1, List.of(place));
		assertThat(report.waitsWithinInstances(standing)).extracting(Entry::number).containsExactly(6L);
	}

	@Test
	void thePlaceOfATimedOutWaiterKeepsAsking() {
		all(ONE);
		CompletableFuture<PermitLease> first = request(ONE.waitTime(Duration.ofSeconds(1)));
		CompletableFuture<PermitLease> second = request(ONE);
		this.store.last("acquire 4").busy(30_000, 15);
		this.store.sent();
		this.store.elapse(2499);
		assertThat(first).isCompletedExceptionally();
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		this.store.elapse(7500);
		assertThat(second).isCompletedExceptionally();
		assertThat(this.store.sent()).contains("release 4");
	}

	@Test
	void thePlaceOfACancelledWaiterDoesNotServeOtherTerms() {
		all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(1, ONE);
		request(ResourceQueue.MAX_PLACES - 1, ONE.autoRenew(false));
		request(ONE.permits(2));
		this.store.last("acquire 4").busy(30_000, 15);
		this.store.sent();
		waiting.get(0).cancel(false);
		assertThat(this.store.sent()).containsExactly("release 4 next " + (LIMIT + ResourceQueue.MAX_PLACES + 1));
	}

	@Test
	void aCancelledWaiterWithOtherTermsMakesNoRoom() {
		all(ONE);
		request(ONE);
		CompletableFuture<PermitLease> other = request(ONE.autoRenew(false));
		request(ONE);
		assertThat(this.store.sent()).containsExactly("acquire 4", "acquire 5");
		other.cancel(false);
		assertThat(this.store.sent()).containsExactly("release 5");
	}

	@Test
	void lostPermitsMakeRoomForAnotherWaiter() {
		all(ONE);
		request(2, ONE);
		this.store.sent();
		renewer().renewNow(renewer().holds().subList(0, 2), 30_000);
		this.store.last("renew").renewed(false, false);
		assertThat(this.store.sent()).contains("acquire 5");
	}

	@Test
	void aWaiterWithOtherTermsHasItsOwnPlaceInTheStore() {
		all(ONE);
		request(ONE);
		request(ONE.permits(2));
		request(ONE.autoRenew(false));
		request(ONE.leaseTime(Duration.ofSeconds(20)));
		assertThat(this.store.sent()).containsExactly("acquire 4", "acquire 5", "acquire 6", "acquire 7");
	}

	@Test
	void waitersWithoutRenewalContendOnArrival() {
		request(LIMIT + 2, ONE.autoRenew(false));
		assertThat(this.store.sent()).hasSize(LIMIT + 2);
	}

	@Test
	void anUnfairRequestAsksAtOnceDespiteWaiters() {
		all(ONE);
		request(2, ONE);
		this.store.sent();
		request(2, ONE.fair(false));
		this.semaphores.tryAcquireAsync(ONE.fair(false).waitTime(Duration.ZERO));
		assertThat(this.store.sent()).containsExactly("acquire 6", "acquire 7", "acquire 8 at once");
	}

	@Test
	void unfairRequestsTakeNoPlaceOfWaiters() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = request(2, ONE);
		request(2, ONE.fair(false));
		this.store.sent();
		held.get(0).release();
		assertThat(waiting.get(0)).isCompleted();
		assertThat(this.store.sent()).isEmpty();
		this.store.wakeUps.granted(SEMAPHORE, ID + ":4", 20, 5000);
		assertThat(waiting.get(1)).as("at the place of the first").isCompleted();
	}

	@Test
	void anUnfairRequestGetsNoHandOver() {
		SemaphoreRequest unfair = ONE.fair(false);
		List<PermitLease> held = all(unfair);
		List<CompletableFuture<PermitLease>> waiting = request(2, unfair);
		assertThat(this.store.sent()).containsExactly("acquire 4", "acquire 5");
		held.get(0).releaseAsync();
		assertThat(waiting).noneMatch(CompletableFuture::isDone);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

}
