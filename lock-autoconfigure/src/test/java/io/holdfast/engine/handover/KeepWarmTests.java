package io.holdfast.engine.handover;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.ScriptedEngine;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * The rules of keeping a lock after its release for the next request within the instance.
 */
class KeepWarmTests extends ScriptedEngine {

	private static final LockRequest ATTEMPT = REQUEST.waitTime(Duration.ZERO);

	KeepWarmTests() {
		super(STRICT.keepWarm(Duration.ofMillis(50)));
	}

	private LockLease kept() {
		LockLease lease = granted(REQUEST, 100);
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		return lease;
	}

	private void wanted(int number) {
		this.store.wakeUps.wanted(lock("k"), ID + ":0" + number);
	}

	@Test
	void whoAsksNextHereNeedsNoStore() {
		LockLease first = kept();
		LockLease second = this.service.acquire(REQUEST);
		assertThat(second.fencingToken()).isEqualTo(101);
		assertThat(second.isHeld()).isTrue();
		assertThat(first.isHeld()).isFalse();
		second.release();
		assertThat(this.service.tryAcquire(ATTEMPT)).get()
			.satisfies((third) -> assertThat(third.fencingToken()).isEqualTo(102));
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void itIsReleasedWhenNoRequestHasComeForAWhile() {
		kept();
		this.store.elapse(40);
		this.service.acquire(REQUEST).release();
		this.store.elapse(49);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.last("release 1").released(true);
		assertThat(isIdle()).isTrue();
		this.store.elapse(TimeUnit.MINUTES.toMillis(1));
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void itIsReleasedAtOnceWhenOthersWantIt() {
		kept();
		wanted(1);
		assertThat(this.store.sent()).containsExactly("release 1");
		this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).containsExactly("acquire 2");
	}

	@Test
	void whatOthersWantIsNotKept() {
		LockLease lease = granted(REQUEST, 100);
		wanted(1);
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void thatOthersWantItIsKnownOfTheNextHolderToo() {
		kept();
		LockLease second = this.service.acquire(REQUEST);
		wanted(1);
		second.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void thatOthersWantItMayBeToldBeforeTheGrant() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		wanted(1);
		this.store.last("acquire 1").granted(100, 30_000);
		answer.join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void whatOthersWantOfAnotherTokenIsNothingToThisOne() {
		kept();
		wanted(7);
		this.store.wakeUps.wanted(lock("another"), ID + ":01");
		assertThat(this.store.sent()).as("the other token is over").containsExactly("release 7");
	}

	@Test
	void whatWasWaitedForIsNotKeptAsOthersMayWaitBehind() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").busy(1000, 99);
		this.store.wakeUps.granted(lock("k"), ID + ":01", 163, 5000);
		answer.join().releaseAsync();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void whoWaitsHereComesFirst() {
		LockLease lease = granted(REQUEST, 100);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		assertThat(this.store.sent()).contains("release 1 next 2");
		assertThat(second).isNotDone();
	}

	@Test
	void theStoreIsAskedAgainAfterSoManyFences() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(100, 30_000, 3);
		answer.join().release();
		this.service.acquire(REQUEST).release();
		LockLease last = this.service.acquire(REQUEST);
		assertThat(last.fencingToken()).isEqualTo(102);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		last.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void theStoreIsAskedAgainAfterSomeTime() {
		kept();
		for (int i = 1; i < 25; i++) {
			this.store.elapse(40);
			this.service.acquire(REQUEST).release();
		}
		assertThat(this.store.sent()).isEmpty();
		LockLease last = this.service.acquire(REQUEST);
		this.store.elapse(40);
		last.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void itIsNotKeptForLongerThanAnybodyHereMayTakeIt() {
		LockLease lease = granted(REQUEST, 100);
		this.store.elapse(970);
		lease.release();
		this.store.elapse(29);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void itIsNotKeptUntilItWouldHaveToBeRenewed() {
		LockRequest brief = REQUEST.leaseTime(Duration.ofMillis(120));
		CompletableFuture<LockLease> answer = this.service.acquireAsync(brief);
		this.store.last("acquire 1").granted(100, 120);
		answer.join().release();
		this.store.elapse(39);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void whatIsDueForRenewalIsNotKept() {
		LockRequest brief = REQUEST.leaseTime(Duration.ofMillis(600));
		CompletableFuture<LockLease> answer = this.service.acquireAsync(brief);
		this.store.last("acquire 1").granted(100, 600);
		this.store.pause(201);
		answer.join().releaseAsync();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void noRequestGoesOnWithAnotherLeaseThanWasAskedFor() {
		kept();
		this.service.acquireAsync(ATTEMPT.leaseTime(Duration.ofSeconds(20)));
		assertThat(this.store.sent()).containsExactly("release 1", "acquire 2 at once");
	}

	@Test
	void noRequestGoesOnWithALeaseWithoutRenewal() {
		kept();
		this.service.acquireAsync(REQUEST.autoRenew(false));
		assertThat(this.store.sent()).containsExactly("release 1", "acquire 2");
	}

	@Test
	void whatIsNotRenewedIsNotKept() {
		LockLease lease = granted(REQUEST.autoRenew(false), 100);
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void whatKeepsOthersOutIsNotKeptBesides() {
		LockLease lease = granted(REQUEST.minHold(Duration.ofMillis(100)), 100);
		lease.releaseAsync();
		assertThat(this.store.sent()).contains("retain 1 for 100");
		this.store.last("retain 1 for 100").retained(true);
		this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).contains("acquire 2");
	}

	@Test
	void whatWasRenewedByHandForLongerThanALeaseIsNotKept() {
		LockLease lease = granted(REQUEST, 100);
		renewer().renewNow(renewer().holds(), TimeUnit.HOURS.toMillis(1));
		this.store.last("renew 1").renewed(true);
		lease.releaseAsync();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void whatWasLostWhileItWasKeptIsNotGivenToAnybody() {
		LockLease lease = granted(REQUEST, 100);
		renewer().renewNow(renewer().holds(), 30_000);
		lease.release();
		this.store.last("renew 1").renewed(false);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		assertThat(second).isNotDone();
		assertThat(this.store.sent()).contains("release 1", "acquire 2");
	}

	@Test
	void whatIsReleasedByForceWhileItIsKeptIsNotGivenToAnybody() {
		kept();
		this.store.answerAtOnce("inspect", (command) -> command.owned(ID + ":01"));
		this.store.answerAtOnce("force 1", (command) -> command.forced(true));
		assertThat(this.service.forceRelease("k")).isTrue();
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		assertThat(second).isNotDone();
		assertThat(this.store.sent()).endsWith("acquire 2");
	}

	@Test
	void aLossThatIsToldWhenItIsTakenAgainIsThatOfTheNext() {
		LockLease lease = granted(REQUEST, 100);
		renewer().renewNow(renewer().holds(), 30_000);
		lease.release();
		LockLease second = this.service.acquire(REQUEST);
		this.store.last("renew 1").renewed(false);
		assertThat(second.isHeld()).isFalse();
	}

	@Test
	void theNextHolderIsRenewedInTime() {
		LockRequest brief = REQUEST.leaseTime(Duration.ofSeconds(3));
		CompletableFuture<LockLease> answer = this.service.acquireAsync(brief);
		this.store.last("acquire 1").granted(100, 3000);
		this.store.elapse(900);
		answer.join().release();
		LockLease second = this.service.acquire(brief);
		this.store.elapse(100);
		this.store.last("renew 1").renewed(true);
		this.store.elapse(2900);
		assertThat(second.isHeld()).isTrue();
	}

	@Test
	void aWakeUpThatComesLateDoesNotReleaseIt() {
		kept();
		this.store.wakeUps.granted(lock("k"), ID + ":01", 100, 5000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void nothingIsKeptWithoutWakeUps() {
		LockLease lease = granted(REQUEST, 100);
		this.store.listening = false;
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void aShutDownReleasesIt() {
		kept();
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(1));
		assertThat(this.store.sent()).contains("release 1");
		this.store.last("release 1").released(true);
		assertThat(shutDown).isDone();
	}

	@Test
	void nothingIsKeptWhileTheEngineShutsDown() {
		LockLease lease = granted(REQUEST, 100);
		this.engine.shutDown(Duration.ofSeconds(1));
		lease.releaseAsync();
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void whoWantsTheKeyInAnotherWayFindsItFree() {
		kept();
		this.service.acquireAsync(REQUEST.mode(LockMode.READ));
		assertThat(this.store.sent()).startsWith("release 1");
	}

	@Test
	void whoLooksSeesThatItHasNoHolder() {
		kept();
		assertThat(renewer().holds()).isEmpty();
		assertThat(this.engine.condition().held()).isZero();
	}

}
