package io.holdfast.engine.queue;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.Locks;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.ScriptedStore;
import io.holdfast.engine.ScriptedStore.Command;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The rules of the protocol that a waiter keeps, until it is granted or over.
 */
class WaitingRulesTests extends ScriptedEngine {

	// A hand-off, seen by the waiter

	@Test
	void aHandOffCountsFromWhenTheLastBusyRequestWasSent() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(400);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(600);
		handOver(1, 20, 5000);
		LockLease lease = answer.join();
		assertThat(lease.fencingToken()).isEqualTo(20);
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
		assertThat(answer.join().fencingToken()).isEqualTo(30);
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
		handOver(1, 10, 5000);
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
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.autoRenew(false));
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
		assertThat(isIdle()).isTrue();
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
	void aTokenOfAnUnansweredCommandIsReleasedAgainAfterAReconnect() {
		CompletableFuture<Optional<LockLease>> answer = this.service
			.tryAcquireAsync(REQUEST.waitTime(Duration.ofMillis(100)));
		answer.cancel(false);
		this.store.reconnects++;
		this.store.last("release 1").released(false);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
		this.store.elapse(5000);
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.reconnects++;
		this.store.last("release 1").released(true);
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aTokenOfAnUnansweredCommandIsReleasedOnceWithoutAReconnect() {
		this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ofMillis(100))).cancel(false);
		this.store.last("release 1").released(false);
		this.store.sent();
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aTokenThatIsBroughtInAfterItsEndIsReleasedAgain() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> next = this.service.acquireAsync(REQUEST.leaseTime(Duration.ofSeconds(20)));
		lease.releaseAsync();
		Command bringsIn = this.store.last("release 1 next 2");
		next.cancel(false);
		this.store.last("release 2").released(false);
		this.store.sent();
		bringsIn.granted(20, 20_000);
		assertThat(this.store.sent()).containsExactly("release 2");
	}

	@Test
	void aTokenThatIsBroughtInBeforeItsEndIsReleasedOnce() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> next = this.service.acquireAsync(REQUEST.leaseTime(Duration.ofSeconds(20)));
		lease.releaseAsync();
		Command bringsIn = this.store.last("release 1 next 2");
		next.cancel(false);
		this.store.sent();
		bringsIn.busy(1000, 20);
		this.store.last("release 2").released(false);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aTokenThatIsOverAndThatOthersWantIsReleased() {
		LockLease lease = granted(REQUEST, 10);
		this.store.wakeUps.wanted(Locks.lock(lease.key()), ID + ":1");
		assertThat(this.store.sent()).as("held").doesNotContain("release 1");
		lease.releaseAsync();
		this.store.wakeUps.wanted(Locks.lock(lease.key()), ID + ":1");
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).as("under way").containsExactly("release 1");
		this.store.wakeUps.wanted(Locks.lock(lease.key()), ID + ":1");
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.wakeUps.wanted(Locks.lock(lease.key()), "fedcba9876543210fedcba9876543210:1");
		assertThat(this.store.sent()).as("another instance's").isEmpty();
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
		this.store.last("release 1").releasedOrRepeated();
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
	}

	// Which exception

	@Test
	void aStoreThatFailsShortlyIsAskedAgain() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.sent();
		this.store.last("acquire 1").fail(true);
		this.store.elapse(250);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.elapse(2749);
		this.store.last("acquire 1").fail(true);
		this.store.elapse(250);
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(answer).isCompleted();
	}

	@Test
	void aStoreThatStaysAwayIsReportedAfterThePatienceForOutages() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(true);
		this.store.elapse(3000);
		this.store.last("acquire 1").fail(true);
		assertThat(answer).isDone();
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
		this.store.sent();
		this.store.last("release 1").released(false);
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aStoreThatIsNotReachedIsReportedAfterThePatienceForOutages() {
		this.store.loseConnection();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(2999);
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class)
			.withMessageContaining("cannot be reached");
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void aStoreThatIsNotReachedIsReportedToThoseThatDoNotWaitBehindOthers() {
		this.store.loseConnection();
		this.service.acquireAsync(REQUEST);
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	@Test
	void aStoreThatIsReachedAgainIsWaitedFor() {
		this.store.loseConnection();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(2000);
		this.store.connectAgain();
		this.store.elapse(7999);
		assertThat(answer).isNotDone();
	}

	@Test
	void aStoreThatIsReachedNoMoreAfterASilenceHasThePatienceForOutagesFromThen() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(4000);
		this.store.loseConnection();
		this.store.elapse(2999);
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withMessageContaining("cannot be reached");
	}

	@Test
	void aStoreThatIsNotReachedKeepsOneCommandOfEach() {
		LockLease lease = granted(REQUEST.only("other"), 10);
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 2").busy(30_000, 10);
		this.store.sent();
		this.store.loseConnection();
		lease.releaseAsync();
		this.store.elapse(9999);
		assertThat(this.store.sent()).as("kept for the next connection").containsExactly("release 1", "acquire 2");
		this.store.connectAgain();
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.last("release 1").released(true);
		assertThat(answer).isCompleted();
		answer.join().releaseAsync();
		this.store.last("release 2").released(true);
		this.store.elapse(100_000);
		assertThat(this.store.sent()).containsExactly("release 2");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aReleaseThatTheStoreHasKeptIsSentAgainOnceItIsReached() {
		LockLease lease = granted(REQUEST, 10);
		this.store.loseConnection();
		lease.releaseAsync();
		this.store.elapse(5000);
		this.store.connectAgain();
		this.store.sent();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void theNextOneBehindASilentStoreWaitsForAsLongAsItWouldByItself() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)));
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		this.store.elapse(9999);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(first::join)
			.withCauseInstanceOf(LeaseStoreException.class);
		assertThat(second).isNotDone();
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(second).isCompletedWithValueMatching((lease) -> lease.fencingToken() == 20);
	}

	@Test
	void aStoreThatIsNotReachedDoesNotEndAWaitForOthers() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.loseConnection();
		this.store.elapse(9_999);
		assertThat(answer).isNotDone();
	}

	@Test
	void aStoreThatFailsForGoodIsReportedAtOnce() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(false);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	@Test
	void aStoreThatFailsIsReportedAtOnceToARequestThatDoesNotWait() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.waitTime(Duration.ZERO));
		this.store.last("acquire 1").fail(true);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	@Test
	void aStoreThatFailsUntilAShortWaitIsOverIsReported() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.waitTime(Duration.ofMillis(500)));
		this.store.last("acquire 1").fail(true);
		this.store.elapse(499);
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
	}

	@Test
	void aStoreThatFailsBeforeItHasAnsweredIsReportedAtOnceThoughItWasAskedAgain() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		Command first = this.store.last("acquire 1");
		this.store.elapse(3000);
		Command second = this.store.last("acquire 1");
		assertThat(second).isNotSameAs(first);
		this.store.sent();
		first.fail(true);
		assertThat(answer).isDone();
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class);
		assertThat(second.isGivenUp()).isTrue();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aGrantThatIsNotConfirmedIsAskedForAgainByTheSameTokenWithinTheWait() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> behind = this.service.acquireAsync(REQUEST);
		for (int i = 0; i < 3; i++) {
			this.store.last("acquire 1").unconfirmed();
			assertThat(this.store.sent()).containsExactly("acquire 1");
			this.store.elapse(250);
		}
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(answer).isCompleted();
		assertThat(behind).isNotDone();
	}

	@Test
	void aGrantThatIsNeverConfirmedIsGivenBackWhenTheWaitIsOver() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").unconfirmed();
		this.store.elapse(9999);
		assertThat(answer).isNotDone();
		this.store.sent();
		this.store.elapse(1);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class)
			.withMessageContaining("few replicas");
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aGrantThatIsNotConfirmedIsGivenBackAtOnceByWhomDoesNotWait() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.waitTime(Duration.ZERO));
		this.store.last("acquire 1 at once").unconfirmed();
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class)
			.withMessageContaining("few replicas");
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "release 1");
	}

	@Test
	void aStoreThatIsNotReadyYetIsAskedAgainWithinTheWaitAndReportedInTheEnd() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)));
		CompletableFuture<LockLease> behind = this.service.acquireAsync(REQUEST);
		for (int i = 0; i < 3; i++) {
			this.store.last("acquire 1").notYet();
			assertThat(this.store.sent()).containsExactly("acquire 1");
			this.store.elapse(250);
		}
		assertThat(answer).isNotDone();
		this.store.last("acquire 1").notYet();
		this.store.elapse(250);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class)
			.withMessageContaining("moving");
		this.store.last("release 1 next 2").granted(10, 30_000);
		assertThat(behind).isCompleted();
	}

	@Test
	void aStoreThatIsNotReadyYetIsReportedAtOnceToWhomDoesNotWait() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.waitTime(Duration.ZERO));
		this.store.last("acquire 1 at once").notYet();
		assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
			.withCauseInstanceOf(LeaseStoreException.class)
			.withMessageContaining("moving");
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
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(10));
		assertThat(waiting).isCompletedExceptionally();
		assertThat(shutDown).as("its release is not answered").isNotDone();
		this.store.last("release 1").released(false);
		assertThat(shutDown).isCompleted();
	}

	@Test
	void aShutDownThatWasResumedEndsNothing() {
		granted(REQUEST, 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(1));
		this.engine.resume();
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
			.withMessageContaining("was not acquired after 1000 ms: still held by others");
	}

	@Test
	void aQuestionThatWasNeverAnsweredIsForgottenWhenALaterOneIs() {
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		// This one is lost.
		this.store.last("acquire 1");
		this.store.elapse(2500);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		assertThat(answer).isCompletedWithValue(Optional.empty());
	}

	@Test
	void aFailureIsNoNewsWhenALaterQuestionWasAnswered() {
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		Command slow = this.store.last("acquire 1");
		this.store.elapse(2500);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2499);
		slow.fail(true);
		this.store.elapse(1);
		assertThat(answer).isCompletedWithValue(Optional.empty());
	}

}
