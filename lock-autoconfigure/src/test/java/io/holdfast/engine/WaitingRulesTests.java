package io.holdfast.engine;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.ScriptedStore.Command;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Protocol of a waiter, from its first question to its end.
 */
@ExtendWith(OutputCaptureExtension.class)
class WaitingRulesTests extends ScriptedEngine {

	// A hand-off, seen by the waiter

	@Test
	void aHandOffCountsFromTheSendingOfTheLastBusyRequest() {
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
	void aHandOffWithTooLittleTimeLeftIsConfirmedFirst() {
		CompletableFuture<LockLease> answer = queued(REQUEST, 10);
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
		CompletableFuture<LockLease> answer = queued(REQUEST, 10);
		handOver(1, 10, 5000);
		handOver(1, 9, 5000);
		assertThat(answer).isNotDone();
		handOver(1, 11, 5000);
		assertThat(answer).isCompleted();
	}

	@Test
	void aWakeUpForAnEndedTokenIsAnsweredWithRelease() {
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
	void aClaimIsRenewedAtAThirdOfItsTime() {
		CompletableFuture<LockLease> answer = queued(REQUEST, 10);
		handOver(1, 20, 3000);
		assertThat(answer).isCompleted();
		this.store.sent();
		this.store.elapse(949);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(52);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
	}

	@Test
	void aClaimWithoutRenewalIsExtendedOnceToAFullLease() {
		CompletableFuture<LockLease> answer = queued(REQUEST.autoRenew(false), 10);
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
	void aWaiterAsksAgainAfterHalfAClaimAtTheLatest() {
		queued(REQUEST, 10);
		this.store.sent();
		this.store.elapse(2499);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.elapse(2500);
		assertThat(this.store.sent()).as("unanswered: again").containsExactly("acquire 1");
	}

	@Test
	void aWaiterAsksAgainAtTheEndOfTheOwnersLease() {
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(300, 10);
		this.store.sent();
		this.store.elapse(301);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aWaiterAsksAtOnceAfterANewSubscription() {
		queued(REQUEST, 10);
		this.store.sent();
		this.store.wakeUps.listening();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aWaiterPollsBehindAForeignOwnerAndWithoutASubscription() {
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
	void theFirstAnswerToSeveralQuestionsCounts() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		ScriptedStore.Command first = this.store.last("acquire 1");
		this.store.elapse(2500);
		ScriptedStore.Command second = this.store.last("acquire 1");
		assertThat(second).isNotSameAs(first);
		first.granted(10, 30_000);
		assertThat(answer.join().remaining()).isEqualTo(Duration.ofMillis(29_700 - 2 - 2500));
		assertThat(second.isCancelled()).isTrue();
	}

	@Test
	void anExpiredGrantIsRequestedAgain() {
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
	void releaseIsTheLastCommandOfATokenAndCancelsPendingCommands() {
		CompletableFuture<LockLease> answer = queued(REQUEST, 10);
		this.store.elapse(2500);
		ScriptedStore.Command pending = this.store.last("acquire 1");
		this.store.sent();
		this.store.elapse(7500);
		assertThat(answer).isCompletedExceptionally();
		assertThat(pending.isCancelled()).isTrue();
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
		assertFailed(result, LeaseStoreException.class);
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
	void aTokenBroughtInAfterItsEndIsReleasedAgain() {
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
	void aTokenBroughtInBeforeItsEndIsReleasedOnce() {
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
	void aLateGrantIsReleasedAfterThePendingRelease() {
		LockLease lease = granted(REQUEST, 10);
		this.store.sent();
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.wakeUps.granted(Locks.lock(lease.key()), ID + ":1", 10, 5000);
		assertThat(this.store.sent()).as("pending").containsExactly("release 1");
		this.store.last("release 1").released(true);
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(this.store.sent()).as("answered").containsExactly("release 1");
	}

	@Test
	void aRefusedRequestWithTwoQuestionsIsReleased() {
		LockRequest once = REQUEST.waitTime(Duration.ZERO).leaseTime(Duration.ofMillis(200));
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(once);
		ScriptedStore.Command first = this.store.last("acquire 1");
		this.store.elapse(100);
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "acquire 1 at once");
		first.busy(30_000, 10);
		assertThat(answer.join()).isEmpty();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	// Long waits behind a foreign owner, which hands nothing over

	private static final LockRequest PATIENT = REQUEST.waitTime(Duration.ofMinutes(10));

	private void busy(long millis, long ownerTtlMillis, boolean foreign) {
		for (long passed = 0; passed < millis; passed += 150) {
			this.store.last("acquire 1").busy(ownerTtlMillis, 5, foreign);
			this.store.elapse(150);
		}
	}

	@Test
	@DisplayName("A foreign owner that holds a lock for more than a lease time is logged once")
	void foreignOwner(CapturedOutput output) {
		this.service.acquireAsync(PATIENT);
		this.service.acquireAsync(PATIENT);
		this.store.elapse(10);
		busy(29_000, 20_000, true);
		assertThat(output).doesNotContain("has been held by");
		busy(90_000, 20_000, true);
		assertThat(output.toString()).containsOnlyOnce("lock 'k' has been held by a client other than Holdfast")
			.containsPattern("WARN .*For 30\\d{3} ms, .*; 2 requests wait for it here. Its lease ends in 20000 ms");
	}

	@Test
	@DisplayName("Instances, and foreign owners that release in between, are not logged")
	void noForeignOwner(CapturedOutput output) {
		this.service.acquireAsync(PATIENT);
		this.store.elapse(10);
		busy(20_000, 20_000, true);
		busy(150, 20_000, false);
		busy(20_000, 20_000, true);
		assertThat(output).doesNotContain("has been held by");
		this.store.last("acquire 1").granted(6, 30_000);
		assertThat(output).doesNotContain("has been held by");
	}

	@Test
	@DisplayName("A foreign owner without an end is not logged here, as the store has warned already")
	void withoutEnd(CapturedOutput output) {
		this.service.acquireAsync(PATIENT);
		this.store.elapse(10);
		busy(60_000, -1, true);
		assertThat(output).doesNotContain("has been held by");
	}

}
