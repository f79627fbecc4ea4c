package io.holdfast.engine.handover;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.ScriptedPermits;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.lease.LeaseHandle.PermitHandle;
import io.holdfast.engine.lease.PermitShrinking;
import io.holdfast.engine.queue.PermitCoordinator;
import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.InstanceStore.Asked;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The rules of passing permits on within an instance, without the store.
 */
class PermitHandOverTests extends ScriptedPermits {

	// Who contends

	@Test
	void asManyContendAsCouldBeGrantedTogether() {
		ask(LIMIT + 2, ONE);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void oneWaiterContendsAlthoughAllIsHeldHereAsALimitMayBeRaised() {
		all(ONE);
		ask(2, ONE);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire 5");
	}

	@Test
	void aContenderThatGivesUpLetsTheNextAsk() {
		all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(3, ONE);
		waiting.get(0).cancel(false);
		assertThat(this.store.sent()).containsExactly("acquire 4", "release 4 next 5");
		this.store.last("release 4").fail(false);
		assertThat(this.store.sent()).containsExactly("release 5 next 6");
	}

	@Test
	void whoGivesUpInTheStoresQueueLeavesItsPlaceThereToTheNext() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(3, ONE);
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
	void whoHasThePlaceOfAnotherIsToldOfByTheNumberThatThePlaceHasInTheStore() {
		this.store.answerAtOnce("ask", (question) -> question.done(new Asked(List.of(), List.of())));
		all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(3, ONE.name("second"));
		this.store.last("acquire 4").busy(30_000, 15);
		waiting.get(0).cancel(false);
		Place place = Place.of(ID + ":4", Kind.SEMAPHORE, 1, 0);
		FleetReport report = this.engine.fleet().reports("k");
		assertThat(report.find(place)).isNotNull().extracting(Entry::name).isEqualTo("second");
		assertThat(report.inside(new Standing(SEMAPHORE, 0, null, LIMIT, LIMIT, LIMIT, List.of(), 1, List.of(place))))
			.extracting((inside) -> inside.entry().number())
			.containsExactly(6L);
	}

	@Test
	void thePlaceOfOneWhoseWaitIsOverIsAskedForFurther() {
		all(ONE);
		CompletableFuture<PermitLease> first = ask(ONE.waitTime(Duration.ofSeconds(1)));
		CompletableFuture<PermitLease> second = ask(ONE);
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
	void thePlaceOfWhoGivesUpIsNotThatOfSomethingElse() {
		all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(1, ONE);
		ask(PermitCoordinator.MAX_CONTENDERS - 1, ONE.autoRenew(false));
		ask(ONE.permits(2));
		this.store.last("acquire 4").busy(30_000, 15);
		this.store.sent();
		waiting.get(0).cancel(false);
		assertThat(this.store.sent())
			.containsExactly("release 4 next " + (LIMIT + PermitCoordinator.MAX_CONTENDERS + 1));
	}

	@Test
	void whoGivesUpSomethingElseMakesNoRoomForAnother() {
		all(ONE);
		ask(ONE);
		CompletableFuture<PermitLease> other = ask(ONE.autoRenew(false));
		ask(ONE);
		assertThat(this.store.sent()).containsExactly("acquire 4", "acquire 5");
		other.cancel(false);
		assertThat(this.store.sent()).containsExactly("release 5");
	}

	@Test
	void whatIsLostHereMakesRoomForAnother() {
		all(ONE);
		ask(2, ONE);
		this.store.sent();
		renewer().renewNow(renewer().holds().subList(0, 2), 30_000);
		this.store.last("renew").renewed(false, false);
		assertThat(this.store.sent()).contains("acquire 5");
	}

	@Test
	void whoAsksForSomethingElseHasItsOwnPlaceInTheStore() {
		all(ONE);
		ask(ONE);
		ask(ONE.permits(2));
		ask(ONE.autoRenew(false));
		ask(ONE.leaseTime(Duration.ofSeconds(20)));
		assertThat(this.store.sent()).containsExactly("acquire 4", "acquire 5", "acquire 6", "acquire 7");
	}

	@Test
	void whatIsNotRenewedIsNotPassedOnSoItsWaitersContendAsTheyCome() {
		ask(LIMIT + 2, ONE.autoRenew(false));
		assertThat(this.store.sent()).hasSize(LIMIT + 2);
	}

	@Test
	void anUnfairRequestWaitsHereOnlyBehindItsLike() {
		all(ONE);
		ask(2, ONE);
		this.store.sent();
		ask(2, ONE.fair(false));
		this.semaphores.tryAcquireAsync(ONE.fair(false).waitTime(Duration.ZERO));
		assertThat(this.store.sent()).containsExactly("acquire 5", "acquire 6", "acquire 8 at once");
	}

	@Test
	void whoPassesThoseThatWaitHereHasTheFirstOfThemAskBefore() {
		SemaphoreRequest unfair = ONE.fair(false);
		all(unfair);
		ask(4, unfair);
		ask(ONE);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		ask(2, unfair);
		assertThat(this.store.sent()).containsExactly("acquire 5", "acquire 9", "acquire 6", "acquire 10");
		ask(2, unfair);
		assertThat(this.store.sent()).containsExactly("acquire 7", "acquire 11", "acquire 8");
	}

	@Test
	void whoOnlyTriesHasNoWaiterAsk() {
		all(ONE);
		ask(2, ONE);
		this.store.sent();
		this.semaphores.tryAcquireAsync(ONE.fair(false).waitTime(Duration.ZERO));
		assertThat(this.store.sent()).containsExactly("acquire 6 at once");
	}

	@Test
	void anUnfairRequestWaitsHereBehindItsLikeAlsoIfTheLastOneHasGivenUp() {
		SemaphoreRequest unfair = ONE.fair(false);
		all(unfair);
		List<CompletableFuture<PermitLease>> waiting = ask(4, unfair);
		this.store.sent();
		waiting.get(3).cancel(false);
		waiting.get(2).cancel(false);
		ask(2, unfair);
		assertThat(this.store.sent()).isEmpty();
		ask(ONE).cancel(false);
		ask(unfair);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void unfairRequestsOfOneKindWaitHereAsOthersDo() {
		SemaphoreRequest unfair = ONE.fair(false);
		List<PermitLease> held = all(unfair);
		List<CompletableFuture<PermitLease>> waiting = ask(3, unfair);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		held.get(0).release();
		assertThat(waiting.get(0)).isCompleted();
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void anAttemptWithoutWaitingDoesNotPassThoseThatWaitHere() {
		all(ONE);
		ask(2, ONE);
		this.store.sent();
		assertThat(this.semaphores.tryAcquireAsync(ONE.waitTime(Duration.ZERO))).isCompletedWithValue(Optional.empty());
		assertThat(this.store.sent()).isEmpty();
	}

	// Who goes on

	@Test
	void whoAskedFirstHereGoesOnAndTheNextOneTakesItsPlaceInTheStore() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(3, ONE);
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
	void anAnswerThatComesAfterThePassingOnCountsForWhoHasThePlaceThen() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(2, ONE);
		held.get(0).release();
		assertThat(waiting.get(0)).isCompleted();
		assertThat(waiting.get(1)).isNotDone();
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(waiting.get(1)).isCompleted();
	}

	@Test
	void whoTakesAPlaceAsksAgainWhenItIsTimeTo() {
		List<PermitLease> held = all(ONE);
		ask(2, ONE);
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
	void whatTheStoreGrantsIsForTheFirstHereWhoseverPlaceItWas() {
		List<CompletableFuture<PermitLease>> answers = ask(LIMIT + 1, ONE);
		this.store.last("acquire 1").granted(10, 30_000);
		// Its place is that of the last one from now on, which is behind two others.
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
	void thePlaceOfTheOnlyOneIsGivenBackWhenItGoesOn() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> waiting = ask(ONE);
		held.get(0).release();
		assertThat(waiting.join().isHeld()).isTrue();
		assertThat(this.store.sent()).containsExactly("acquire 4", "release 4");
		this.store.last("acquire 4").granted(20, 30_000);
		this.store.last("release 4").released(true);
		waiting.join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void thePlaceOfSomethingElseIsNotTaken() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> first = ask(ONE);
		ask(PermitCoordinator.MAX_CONTENDERS - 1, ONE.autoRenew(false));
		CompletableFuture<PermitLease> behind = ask(ONE.permits(2));
		this.store.sent();
		held.get(0).release();
		assertThat(first).isCompleted();
		String last = "acquire " + (LIMIT + PermitCoordinator.MAX_CONTENDERS + 1);
		assertThat(this.store.sent()).containsExactly("release 4", last);
		this.store.last("acquire 4").granted(20, 30_000);
		assertThat(behind).isNotDone();
	}

	@Test
	void noWaiterIsPassedByWhoAskedLater() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> big = ask(ONE.permits(2));
		CompletableFuture<PermitLease> small = ask(ONE);
		this.store.sent();
		held.get(0).releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		assertThat(List.of(big, small)).noneMatch(CompletableFuture::isDone);
	}

	@Test
	void aWaiterOfAnotherInstanceHasATurnAfterSoMany() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(COUNT + 2, ONE);
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
	void aWaiterOfAnotherInstanceHasATurnAfterSomeTime() {
		List<PermitLease> held = all(ONE);
		ask(2, ONE);
		this.store.elapse(5);
		held.get(0).releaseAsync();
		assertThat(this.store.sent()).contains("release 1 next 5");
	}

	@Test
	void theFenceStaysThatOfTheStoreAsThoseOfPermitsHaveNoStride() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = ask(ONE);
		held.get(0).release();
		assertThat(((PermitHandle) next.join()).hold.fence).isEqualTo(11);
	}

	@Test
	void theTokenIsRenewedForItsNextHolder() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = ask(ONE);
		this.store.elapse(4);
		renewer().renewNow(List.of(((PermitHandle) held.get(0)).hold), 60_000);
		held.get(0).release();
		this.store.last("renew 1").renewed(true);
		assertThat(next.join().remaining()).isGreaterThan(Duration.ofSeconds(59));
		renewer().renewNow(List.of(((PermitHandle) next.join()).hold), 30_000);
		this.store.last("renew 1").renewed(false);
		assertThat(next.join().isHeld()).isFalse();
	}

	// What is not passed on

	@Test
	void noWaiterGoesOnWithOtherThanWasAskedFor() {
		for (SemaphoreRequest other : List.of(ONE.permits(2), ONE.autoRenew(false),
				ONE.leaseTime(Duration.ofSeconds(20)))) {
			CompletableFuture<PermitLease> answer = ask(ONE);
			List<String> sent = this.store.sent();
			String token = sent.get(sent.size() - 1).substring("acquire ".length());
			this.store.last("acquire " + token).granted(10, 30_000);
			CompletableFuture<PermitLease> next = ask(other);
			this.store.sent();
			answer.join().releaseAsync();
			assertThat(this.store.sent()).contains("release " + token);
			next.cancel(false);
			this.store.sent();
		}
	}

	@Test
	void aPermitOfAnotherLimitIsNotPassedOn() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = ask(
				SemaphoreRequest.of("k", LIMIT - 1).waitTime(ONE.waitTime()).leaseTime(ONE.leaseTime()));
		held.get(0).releaseAsync();
		assertThat(next).isNotDone();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void whatIsNotRenewedIsNotPassedOn() {
		List<PermitLease> held = all(ONE.autoRenew(false));
		CompletableFuture<PermitLease> next = ask(ONE);
		held.get(0).releaseAsync();
		assertThat(next).isNotDone();
	}

	@Test
	void whatSomeWasGivenBackOfIsNotPassedOn() {
		CompletableFuture<PermitLease> two = ask(ONE.permits(2));
		this.store.last("acquire 1").granted(10, 30_000);
		CompletableFuture<PermitLease> next = ask(ONE);
		PermitHandle lease = (PermitHandle) two.join();
		lease.hold.coordinator.execute(() -> new PermitShrinking(context(), renewer(), lease.hold).keep(1));
		lease.releaseAsync();
		assertThat(next).isNotDone();
		assertThat(this.store.sent()).contains("shrink 1 to 1", "release 1");
	}

	@Test
	void whatSomeIsGivenBackOfTooLateIsWholeForItsNextHolder() {
		SemaphoreRequest two = ONE.permits(2);
		CompletableFuture<PermitLease> first = ask(two);
		this.store.last("acquire 1").granted(10, 30_000);
		CompletableFuture<PermitLease> next = ask(two);
		this.store.sent();
		this.store.answerAtOnce("shrink 1 to 1", (command) -> command.shrunk(true));
		PermitLease lease = first.join();
		lease.release();
		assertThat(next).isCompleted();
		// Another thread, which gives back its part of it, was slower.
		assertThat(lease.release(1)).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertThat(this.store.sent()).doesNotContain("shrink 1 to 1");
		assertThat(next.join().permits()).isEqualTo(2);
	}

	@Test
	void whatKeepsOthersOutIsNotPassedOn() {
		List<PermitLease> held = all(ONE.minHold(Duration.ofMillis(100)));
		CompletableFuture<PermitLease> next = ask(ONE);
		held.get(0).releaseAsync();
		assertThat(next).isNotDone();
		assertThat(this.store.sent()).contains("retain 1 for 100");
	}

	@Test
	void whatWasLostIsNotPassedOn() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = ask(ONE);
		renewer().renewNow(List.of(((PermitHandle) held.get(0)).hold), 30_000);
		this.store.last("renew 1").renewed(false);
		held.get(0).releaseAsync();
		assertThat(next).isNotDone();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void whatFailsToBeRenewedIsNotPassedOn() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = ask(ONE);
		((PermitHandle) held.get(0)).hold.renewal.onFailed();
		held.get(0).releaseAsync();
		assertThat(next).isNotDone();
	}

	@Test
	void nothingIsPassedOnWhileTheEngineShutsDown() {
		List<PermitLease> held = all(ONE);
		CompletableFuture<PermitLease> next = ask(ONE);
		this.engine.shutDown(Duration.ofSeconds(1));
		held.get(0).releaseAsync();
		assertThat(next).isCompletedExceptionally();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void whoHasGivenUpIsPassedOver() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(3, ONE);
		waiting.get(1).cancel(false);
		held.get(0).release();
		assertThat(waiting.get(0)).isCompleted();
		held.get(1).release();
		assertThat(waiting.get(2)).isCompleted();
	}

	@Test
	void nothingIsLeft() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(2, ONE);
		held.forEach(PermitLease::releaseAsync);
		waiting.forEach((lease) -> lease.join().releaseAsync());
		for (int number = 1; number <= 4; number++) {
			this.store.last("release " + number).released(true);
		}
		assertThat(isIdle()).isTrue();
		this.store.sent();
		this.store.elapse(TimeUnit.MINUTES.toMillis(1));
		assertThat(this.store.sent()).isEmpty();
	}

}
