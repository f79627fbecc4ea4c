package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Loss margin: a holder counts as lost some time before the store may grant the lock
 * again.
 */
class LossMarginRulesTests extends ScriptedEngine {

	private static final Duration MARGIN = Duration.ofSeconds(10);

	private static final LockRequest WITH_MARGIN = REQUEST.lossMargin(MARGIN);

	LossMarginRulesTests() {
		super(EngineSettings.defaults());
	}

	@Test
	void aLeaseIsLostTheMarginBeforeItsEndAndMayStillBeReleased() {
		LockLease lease = granted(WITH_MARGIN.autoRenew(false), 10);
		List<String> lost = new ArrayList<>();
		lease.onLost(() -> lost.add("lost"));
		assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(19_698));
		this.store.elapse(19_697);
		assertThat(lease.isHeld()).isTrue();
		this.store.elapse(1);
		assertThat(lease.isHeld()).isFalse();
		assertThat(lost).hasSize(1);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.last("release 1").released(true);
		assertThat(result.join()).isEqualTo(ReleaseResult.LOST);
		assertThat(isIdle()).isTrue();
	}

	@Test
	void twoRenewalsFitBeforeTheLoss() {
		LockLease lease = granted(WITH_MARGIN, 10);
		this.store.sent();
		this.store.elapse(19_697);
		assertThat(lease.isHeld()).isTrue();
		assertThat(this.store.sent()).hasSizeGreaterThanOrEqualTo(2)
			.allMatch((line) -> line.equals("renew 1 for 30000"));
	}

	@Test
	void aRenewalWithoutAnAnswerIsGivenUpAtTheLoss() {
		LockLease lease = granted(WITH_MARGIN, 10);
		this.store.elapse(10_000);
		ScriptedStore.Command first = this.store.last("renew 1");
		this.store.elapse(9_697);
		ScriptedStore.Command last = this.store.last("renew 1");
		assertThat(List.of(first, last)).noneMatch(ScriptedStore.Command::isCancelled);
		this.store.elapse(1);
		assertThat(lease.isHeld()).isFalse();
		assertThat(List.of(first, last)).allMatch(ScriptedStore.Command::isCancelled);
	}

	@Test
	void aLateNotificationFreesTheKeyOnlyAfterTheMargin() {
		granted(WITH_MARGIN.autoRenew(false), 10);
		this.store.elapse(20_000);
		handOver(1, 10, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.elapse(9_700);
		handOver(1, 10, 30_000);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aGrantWithLessThanTheMarginLeftIsRequestedAgain() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(WITH_MARGIN.waitForever());
		ScriptedStore.Command first = this.store.last("acquire 1");
		this.store.pause(19_700);
		first.granted(10, 30_000);
		assertThat(answer).isNotDone();
		ScriptedStore.Command second = this.store.last("acquire 1");
		assertThat(second).isNotSameAs(first);
		second.granted(10, 30_000);
		assertThat(answer.join().isHeld()).isTrue();
	}

	@Test
	void theMarginLengthensTheClaimButNotTheIntervalsOfQuestionsAndRenewals() {
		CompletableFuture<LockLease> answer = queued(WITH_MARGIN.waitForever(), 9);
		this.store.sent();
		this.store.elapse(2_500);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.last("acquire 1").busy(30_000, 9);
		handOver(1, 10, 15_000);
		assertThat(answer.join().remaining()).isBetween(Duration.ofMillis(4_000), Duration.ofMillis(5_000));
		this.store.elapse(1_667);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
		this.store.last("renew 1").renewed(true);
		this.store.elapse(5_000);
		assertThat(answer.join().isHeld()).isTrue();
	}

	@Test
	void aClaimWithLittleMoreThanTheMarginLeftIsRequestedAgain() {
		CompletableFuture<LockLease> answer = queued(WITH_MARGIN.waitForever(), 9);
		this.store.sent();
		this.store.pause(3_500);
		handOver(1, 10, 15_000);
		assertThat(answer).isNotDone();
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(answer.join().isHeld()).isTrue();
	}

	@Test
	void theLongerMarginOfANestedLeaseCountsForBoth() {
		LockLease outer = granted(REQUEST.autoRenew(false), 10);
		LockLease nested = nested(outer, WITH_MARGIN.autoRenew(false));
		assertThat(outer.remaining()).isEqualTo(nested.remaining()).isEqualTo(Duration.ofMillis(19_698));
		nested.release();
		assertThat(outer.remaining()).as("the margin does not shrink").isEqualTo(Duration.ofMillis(19_698));
		LockLease brief = nested(outer, REQUEST.lossMargin(Duration.ZERO));
		assertThat(brief.remaining()).isEqualTo(Duration.ofMillis(19_698));
	}

	@Test
	void theMarginOfANestedLeaseCausesARenewalAtOnceIfLittleTimeIsLeft() {
		CompletableFuture<LockLease> answer = queued(REQUEST.waitForever(), 9);
		handOver(1, 10, 5_000);
		LockLease outer = answer.join();
		this.store.sent();
		LockLease nested = nested(outer, WITH_MARGIN);
		assertThat(nested.isHeld()).isTrue();
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
		this.store.last("renew 1").renewed(true);
		assertThat(outer.remaining()).isBetween(Duration.ofMillis(19_600), Duration.ofMillis(19_698));
	}

	@Test
	void aRenewalCoversThreeTimesTheMarginAtLeast() {
		LockLease outer = granted(WITH_MARGIN, 10);
		LockLease nested = nested(outer, REQUEST.leaseTime(Duration.ofSeconds(3)).lossMargin(Duration.ofSeconds(1)));
		outer.releaseAsync();
		this.store.sent();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
		this.store.last("renew 1").renewed(true);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(true);
		this.store.elapse(9_000);
		assertThat(nested.isHeld()).isTrue();
	}

	@Test
	void aLockIsHandedOverBetweenEqualMarginsOnly() {
		LockLease first = granted(WITH_MARGIN, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(WITH_MARGIN);
		CompletableFuture<LockLease> third = this.service.acquireAsync(REQUEST);
		first.releaseAsync();
		assertThat(second.join().remaining()).isEqualTo(Duration.ofMillis(19_698));
		second.join().releaseAsync();
		assertThat(third).isNotDone();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 3");
	}

	@Test
	void aLockIsHandedOverOnlyWhileHalfAClaimIsLeftBesidesTheMargin() {
		assertThat(isHandedOver(12_600)).as("12.472 s left, with a margin of 10 s").isFalse();
		assertThat(isHandedOver(12_700)).as("12.571 s").isTrue();
	}

	/**
	 * Return whether a grant for less than the lease time, as to a waiter, is handed
	 * over.
	 */
	private static boolean isHandedOver(long ttlMillis) {
		LossMarginRulesTests fresh = new LossMarginRulesTests();
		CompletableFuture<LockLease> first = fresh.service.acquireAsync(WITH_MARGIN);
		fresh.store.last("acquire 1").granted(10, ttlMillis);
		CompletableFuture<LockLease> second = fresh.service.acquireAsync(WITH_MARGIN);
		first.join().releaseAsync();
		return second.isDone();
	}

	@Test
	void aShutdownRetainsTheKeyForTheMargin() {
		LockLease lease = granted(WITH_MARGIN, 10);
		this.store.sent();
		this.engine.shutDown(Duration.ZERO);
		this.store.elapse(0);
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("retain 1 for 10000");
	}

	@Test
	void aMarginAboveAThirdOfTheDefaultLeaseTimeIsRejected() {
		assertThatExceptionOfType(IllegalArgumentException.class)
			.isThrownBy(() -> this.service.acquireAsync(LockRequest.of("k").lossMargin(Duration.ofMillis(10_001))))
			.withMessage("lossMargin of lock 'k' is 10001 ms, more than a third of its lease time of 30000 ms: "
					+ "request a lossMargin of 10000 ms at most, or a longer leaseTime");
		assertThat(this.store.sent()).isEmpty();
	}

	private LockLease nested(LockLease outer, LockRequest request) {
		return this.service.acquireAsync(request.within(LeaseContext.empty().with(outer))).join();
	}

}
