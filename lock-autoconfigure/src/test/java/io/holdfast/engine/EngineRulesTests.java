package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The rules of the protocol that an instance keeps, each against a store and a clock that
 * do just what the test says. Tokens are 1, 2, … in the order of the requests.
 */
class EngineRulesTests {

	private static final String ID = "0123456789abcdef0123456789abcdef";

	private static final LockRequest REQUEST = LockRequest.of("k")
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	private final ScriptedStore store = new ScriptedStore();

	private final DefaultLockService service = new DefaultLockService(this.store, EngineSettings.defaults(), this.store,
			Runnable::run, ID, () -> 1.0);

	// A hand-off, seen by the waiter

	@Test
	void aHandOffCountsFromWhenTheLastBusyRequestWasSent() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(400);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(600);
		handOver(1, 20, 5000);
		LockLease lease = answer.join();
		assertThat(lease.fence()).isEqualTo(20);
		// 5 s less 1 % and 2 ms, counted from 1 s ago.
		assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(3948));
	}

	@Test
	void aHandOffThatLeavesTooLittleIsConfirmedFirstAndTakesThatFence() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2400);
		this.store.sent();
		handOver(1, 20, 3000);
		assertThat(answer).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.last("acquire 1").granted(30, 30_000);
		assertThat(answer.join().fence()).isEqualTo(30);
	}

	@Test
	void aHandOffBeforeAnyAnswerCountsFromTheFirstCommand() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(1000);
		handOver(1, 20, 5000);
		assertThat(answer.join().remaining()).isEqualTo(Duration.ofMillis(3948));
	}

	@Test
	void aStaleWakeUpIsIgnored() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		handOver(1, 10, 5000);
		handOver(1, 9, 5000);
		assertThat(answer).isNotDone();
		handOver(1, 11, 5000);
		assertThat(answer).isCompleted();
	}

	@Test
	void aWakeUpForATokenThatIsOverIsAnsweredWithRelease() {
		LockLease lease = granted(REQUEST, 10);
		handOver(1, 20, 5000);
		assertThat(this.store.sent()).as("held: left alone").containsExactly("acquire 1");
		lease.releaseAsync();
		this.store.last("release 1").released(true);
		this.store.sent();
		handOver(1, 20, 5000);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aClaimIsRenewedAtAThirdOfWhatWasGranted() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		handOver(1, 20, 3000);
		assertThat(answer).isCompleted();
		this.store.sent();
		this.store.elapse(949);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(52);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
	}

	@Test
	void aClaimWithoutRenewalIsLengthenedOnceToTheLease() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.renewal(false));
		this.store.last("acquire 1").busy(30_000, 10);
		handOver(1, 20, 3000);
		this.store.elapse(1000);
		this.store.last("renew 1 for 29000").renewed(true);
		this.store.sent();
		this.store.elapse(28_000);
		assertThat(this.store.sent()).isEmpty();
		assertThat(answer.join().isHeld()).isTrue();
		this.store.elapse(1000);
		assertThat(answer.join().isHeld()).isFalse();
	}

	// Waiting

	@Test
	void aWaiterAsksAgainAfterHalfItsClaimWhateverTheOwnersTimeSays() {
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.sent();
		this.store.elapse(2499);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.elapse(2500);
		assertThat(this.store.sent()).as("unanswered: again").containsExactly("acquire 1");
	}

	@Test
	void aWaiterAsksAgainWhenTheOwnersTimeIsOver() {
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(300, 10);
		this.store.sent();
		this.store.elapse(301);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aWaiterAsksAtOnceWhenWakeUpsAreReceivedAgain() {
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.sent();
		this.store.wakeUps.listening();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aWaiterPollsForAForeignOwnerAndWhileDeaf() {
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10, true);
		this.store.sent();
		this.store.elapse(250);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.listening = false;
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(250);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void theFirstOfSeveralQuestionsThatIsAnsweredCounts() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		ScriptedStore.Command first = this.store.last("acquire 1");
		this.store.elapse(2500);
		ScriptedStore.Command second = this.store.last("acquire 1");
		assertThat(second).isNotSameAs(first);
		first.granted(10, 30_000);
		assertThat(answer.join().remaining()).isEqualTo(Duration.ofMillis(29_700 - 2 - 2500));
		assertThat(second.isGivenUp()).isTrue();
	}

	@Test
	void aGrantThatIsOverWhenItsAnswerComesIsAskedForAgain() {
		CompletableFuture<LockLease> answer = this.service
			.acquireAsync(REQUEST.leaseTime(Duration.ofMillis(1000)).waitTime(Duration.ofSeconds(60)));
		ScriptedStore.Command first = this.store.last("acquire 1");
		this.store.elapse(1000);
		this.store.sent();
		first.granted(10, 1000);
		assertThat(answer).isNotDone();
		assertThat(this.store.sent()).contains("acquire 1");
	}

	// The end of a token

	@Test
	void releaseIsATokensLastCommandAndWhatWasUnderWayIsGivenUp() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		ScriptedStore.Command underWay = this.store.last("acquire 1");
		this.store.sent();
		this.store.elapse(7500);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join);
		assertThat(underWay.isGivenUp()).isTrue();
		assertThat(this.store.sent()).endsWith("release 1");
		this.store.last("release 1").released(false);
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
		assertThat(this.service.isIdle()).isTrue();
	}

	@Test
	void anUnansweredReleaseIsRepeatedUntilTheStoreHasForgottenTheToken() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.elapse(1001);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(result::join)
			.withCauseInstanceOf(LeaseStoreException.class);
		assertThat(lease.isHeld()).isFalse();
		this.store.sent();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).isNotEmpty().allMatch("release 1"::equals);
		this.store.elapse(26_000);
		this.store.sent();
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aTokenOfAnUnansweredCommandIsReleasedTwiceWhereOrderCannotBeHad() {
		this.store.ordered = false;
		CompletableFuture<Optional<LockLease>> answer = this.service
			.tryAcquireAsync(REQUEST.waitTime(Duration.ofMillis(100)));
		answer.cancel(false);
		this.store.last("release 1").released(false);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
		this.store.elapse(5000);
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.last("release 1").released(true);
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aRefusedRequestThatAskedTwiceIsReleased() {
		LockRequest once = REQUEST.waitTime(Duration.ZERO).leaseTime(Duration.ofMillis(200));
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(once);
		ScriptedStore.Command first = this.store.last("acquire 1");
		this.store.elapse(100);
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "acquire 1 at once");
		first.busy(30_000, 10);
		assertThat(answer.join()).isEmpty();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aReleaseThatWasValidWhenSentIsReleasedWhateverItsCopyFinds() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.last("release 1").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
	}

	// The gate

	@Test
	void onlyOneWaiterStandsInTheStore() {
		granted(REQUEST, 10);
		this.service.acquireAsync(REQUEST);
		this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void anAttemptWithoutWaitingFailsWithoutACommandWhileTheKeyIsInUseHere() {
		LockRequest once = REQUEST.waitTime(Duration.ZERO);
		CompletableFuture<LockLease> contender = this.service.acquireAsync(REQUEST);
		assertThat(this.service.tryAcquireAsync(once)).isCompletedWithValue(Optional.empty());
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(contender).isCompleted();
		assertThat(this.service.tryAcquireAsync(once)).isCompletedWithValue(Optional.empty());
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aReleaseHandsOverToTheNextHereInOneCommand() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		this.store.last("release 1 next 2").granted(20, 30_000);
		assertThat(second.join().fence()).isEqualTo(20);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
	}

	@Test
	void theNextRunsItsOwnTimersAndDoesNotDependOnTheRelease() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		this.store.elapse(2500);
		assertThat(this.store.sent()).contains("acquire 2");
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(second).isCompleted();
	}

	@Test
	void aNextThatWasNotQueuedAsksByItself() {
		LockLease lease = granted(REQUEST, 10);
		this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		this.store.sent();
		this.store.last("release 1 next 2").released(false);
		assertThat(this.store.sent()).containsExactly("acquire 2");
	}

	@Test
	void everyWayOutOfContendingPromotesTheNext() {
		List<Runnable> waysOut = new ArrayList<>();
		CompletableFuture<LockLease> cancelled = this.service.acquireAsync(REQUEST);
		waysOut.add(() -> cancelled.cancel(false));
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)));
		waysOut.add(() -> this.store.elapse(1001));
		this.service.acquireAsync(REQUEST);
		waysOut.add(() -> this.store.last("release 2 next 3").fail(false));
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.sent();
		waysOut.get(0).run();
		assertThat(this.store.sent()).containsExactly("release 1 next 2");
		waysOut.get(1).run();
		assertThat(this.store.sent()).contains("release 2 next 3");
		waysOut.get(2).run();
		assertThat(this.store.sent()).contains("release 3 next 4");
	}

	@Test
	void aRefusedAttemptPromotesTheNext() {
		CompletableFuture<Optional<LockLease>> once = this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1 at once").busy(30_000, 10);
		assertThat(once.join()).isEmpty();
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "acquire 2");
	}

	@Test
	void aPromotedWaiterThatGivesUpPassesItsTurnOn() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> third = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		ScriptedStore.Command release = this.store.last("release 1 next 2");
		second.cancel(false);
		assertThat(release.isGivenUp()).as("the release of another").isFalse();
		release.granted(20, 30_000);
		this.store.last("release 2 next 3").granted(30, 30_000);
		assertThat(third.join().fence()).isEqualTo(30);
	}

	@Test
	void aGrantThatNobodyWaitsForAnyMoreIsReleased() {
		List<Runnable> later = new ArrayList<>();
		DefaultLockService slow = new DefaultLockService(this.store, EngineSettings.defaults(), this.store, later::add,
				ID, () -> 1.0);
		CompletableFuture<LockLease> answer = slow.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(10, 30_000);
		answer.cancel(false);
		later.forEach(Runnable::run);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void lossPromotesTheNextAtOnce() {
		granted(REQUEST, 10);
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(1)));
		this.store.elapse(10_000);
		this.store.sent();
		this.store.last("renew 1").renewed(false);
		assertThat(this.store.sent()).containsExactly("acquire 2");
	}

	@Test
	void theEndOfValidityPromotesTheNextWithoutRenewal() {
		LockLease lease = granted(REQUEST.renewal(false), 10);
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(1)));
		this.store.sent();
		this.store.elapse(29_697);
		assertThat(this.store.sent()).isEmpty();
		assertThat(lease.isHeld()).isTrue();
		this.store.elapse(1);
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("acquire 2");
	}

	@Test
	void aHolderThatWasReplacedReleasesOnlyItself() {
		LockLease lost = granted(REQUEST.renewal(false), 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(1)));
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(1)));
		this.store.elapse(29_698);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.sent();
		CompletableFuture<ReleaseResult> result = lost.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.last("release 1").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
		second.join().releaseAsync();
		assertThat(this.store.sent()).as("the holder is still known").containsExactly("release 2 next 3");
	}

	@Test
	void aLeaseThatRanOutAndIsNeverReleasedKeepsNothing() {
		LockLease ranOut = granted(REQUEST.renewal(false), 10);
		this.store.elapse(29_698);
		assertThat(this.service.isIdle()).isTrue();
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.sent();
		CompletableFuture<ReleaseResult> late = ranOut.releaseAsync();
		this.store.last("release 1").released(false);
		assertThat(late).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(second.join().isHeld()).isTrue();
		assertThat(this.service.isIdle()).isFalse();
		second.join().releaseAsync();
		assertThat(this.service.isIdle()).isTrue();
	}

	@Test
	void aThreadMayLockAgainWhatRanOutAsItWasMeantTo() {
		CompletableFuture<LockLease> first = CompletableFuture
			.completedFuture(this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST.renewal(false))));
		this.store.elapse(29_698);
		LockLease again = this.store.answering("acquire 2", 20, () -> this.service.acquire(REQUEST));
		assertThat(again.fence()).isEqualTo(20);
		assertThat(first.join().isHeld()).isFalse();
	}

	@Test
	void aThreadThatLostALeaseIsToldSoUntilItReleasesIt() {
		LockLease lost = this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST));
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.service.acquire(REQUEST))
			.withMessageContaining("'k'");
		lost.releaseAsync();
		LockLease again = this.store.answering("acquire 3", 20, () -> this.service.acquire(REQUEST));
		assertThat(again.fence()).isEqualTo(20);
	}

	@Test
	void anIdleGateIsForgotten() {
		LockLease lease = granted(REQUEST, 10);
		assertThat(this.service.isIdle()).isFalse();
		lease.releaseAsync();
		assertThat(this.service.isIdle()).isTrue();
	}

	// Renewal

	@Test
	void renewalsThatAreDueTogetherAreSentTogether() {
		granted(REQUEST, 10);
		CompletableFuture<LockLease> other = this.service.acquireAsync(LockRequest.of("other"));
		this.store.last("acquire 2").granted(10, 30_000);
		assertThat(other).isCompleted();
		this.store.sent();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).hasSize(1).allMatch((line) -> line.contains("1 for") && line.contains("2 for"));
		this.store.last("renew").renewed(false, true);
		this.store.elapse(10_000);
		assertThat(this.store.sent()).as("the lost one does not end the other's").hasSize(1);
	}

	@Test
	void renewalsInPartsOfTheStoreDoNotMatterToEachOther() {
		this.store.parts.put("other", 1);
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> other = this.service.acquireAsync(LockRequest.of("other"));
		this.store.last("acquire 2").granted(10, 30_000);
		this.store.sent();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).containsExactlyInAnyOrder("renew 1 for 30000", "renew 2 for 30000");
		this.store.last("renew 2").renewed(true);
		this.store.elapse(19_900);
		assertThat(lease.isHeld()).isFalse();
		assertThat(other.join().isHeld()).isTrue();
	}

	@Test
	void aFailedRenewalIsRepeatedUntilValidityEndsAndThenTheLeaseIsLostForGood() {
		LockLease lease = granted(REQUEST, 10);
		List<String> lost = new ArrayList<>();
		lease.onLost(() -> lost.add("lost"));
		this.store.elapse(10_000);
		this.store.last("renew 1").fail(true);
		this.store.elapse(1000);
		ScriptedStore.Command late = this.store.last("renew 1");
		this.store.elapse(18_697);
		assertThat(lease.isHeld()).isTrue();
		this.store.elapse(1);
		assertThat(lease.isHeld()).isFalse();
		late.renewed(true);
		assertThat(lease.isHeld()).isFalse();
		assertThat(lost).containsExactly("lost");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld);
	}

	@Test
	void aRenewalThatIsAnsweredAfterTheEndDoesNotReviveTheLease() {
		LockLease lease = granted(REQUEST, 10);
		this.store.elapse(10_000);
		ScriptedStore.Command renewal = this.store.last("renew 1");
		// The timers are late, as after a pause of the whole process.
		this.store.pause(20_000);
		assertThat(lease.isHeld()).isFalse();
		renewal.renewed(true);
		assertThat(lease.isHeld()).isFalse();
	}

	@Test
	void aRenewalNeverShortensValidity() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<Void> byHand = CompletableFuture.runAsync(() -> lease.renew(Duration.ofMillis(100)));
		this.store.answerNext("renew 1 for 100");
		byHand.join();
		assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(29));
	}

	@Test
	void maxHoldEndsTheRenewalOfAHolderThatHangs() {
		LockLease lease = granted(REQUEST.maxHold(Duration.ofSeconds(15)), 10);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(true);
		this.store.elapse(29_000);
		assertThat(lease.isHeld()).isTrue();
		this.store.elapse(1000);
		assertThat(lease.isHeld()).isFalse();
	}

	@Test
	void nothingIsSentWhileNothingIsHeld() {
		LockLease lease = granted(REQUEST, 10);
		lease.releaseAsync();
		this.store.last("release 1").released(true);
		this.store.sent();
		this.store.elapse(1_000_000);
		assertThat(this.store.sent()).isEmpty();
	}

	// Which exception

	@Test
	void aStoreThatFailsAtFirstIsReportedAtOnce() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(true);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	@Test
	void aStoreThatFailsLaterIsAskedAgainAndReportedInTheEnd() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		this.store.last("acquire 1").fail(true);
		assertThat(answer).isNotDone();
		this.store.elapse(8000);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	@Test
	void aWaitThatIsShorterThanAnAnswerTakesIsAnsweredAllTheSame() {
		LockRequest brief = REQUEST.waitTime(Duration.ofMillis(1));
		CompletableFuture<Optional<LockLease>> busy = this.service.tryAcquireAsync(brief);
		this.store.elapse(40);
		assertThat(busy).isNotDone();
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(0);
		assertThat(busy).isCompletedWithValue(Optional.empty());
		CompletableFuture<Optional<LockLease>> silent = this.service.tryAcquireAsync(brief);
		this.store.elapse(249);
		assertThat(silent).isNotDone();
		this.store.elapse(1);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(silent::join)
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	@Test
	void aShutDownWaitsForWhoIsOnTheWay() {
		CompletableFuture<LockLease> waiting = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		CompletableFuture<?> shutDown = this.service.shutDown(Duration.ofSeconds(10));
		assertThat(waiting).isCompletedExceptionally();
		assertThat(shutDown).as("its release is not answered").isNotDone();
		this.store.last("release 1").released(false);
		assertThat(shutDown).isCompleted();
	}

	@Test
	void aShutDownThatWasResumedEndsNothing() {
		granted(REQUEST, 10);
		CompletableFuture<?> shutDown = this.service.shutDown(Duration.ofSeconds(1));
		this.service.resume();
		CompletableFuture<LockLease> other = this.service.acquireAsync(LockRequest.of("other"));
		this.store.last("acquire 2").granted(10, 30_000);
		this.store.elapse(2000);
		assertThat(shutDown).isDone();
		assertThat(other.join().isHeld()).isTrue();
	}

	@Test
	void whoWaitedBehindAnAnsweredStoreWasNotServedByIt() {
		granted(REQUEST, 10);
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)));
		this.store.elapse(1000);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LockNotAcquiredException.class)
			.withMessageContaining("still held by others after 1000 ms");
	}

	private LockLease granted(LockRequest request, long fence) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire 1").granted(fence, 30_000);
		return answer.join();
	}

	private void handOver(int number, long fence, long ttlMillis) {
		this.store.wakeUps.handedOver("k", ID + ":" + number, fence, ttlMillis);
	}

}
