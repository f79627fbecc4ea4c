package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.EngineObserver.RenewalOutcome;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class RenewalRulesTests extends ScriptedEngine {

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
		assertThat(this.store.sent()).as("the loss of a lease does not end other renewals").hasSize(1);
	}

	@Test
	void partsOfTheStoreRenewIndependently() {
		this.store.parts.put("other", 1);
		LockLease lease = granted(REQUEST, 10);
		LockLease other = granted(LockRequest.of("other"), 10);
		this.store.sent();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).containsExactlyInAnyOrder("renew 1 for 30000", "renew 2 for 30000");
		this.store.last("renew 2").renewed(true);
		this.store.elapse(19_900);
		assertThat(lease.isHeld()).isFalse();
		assertThat(other.isHeld()).isTrue();
	}

	@Test
	void aFailedRenewalIsRepeatedUntilTheEndOfValidity() {
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
	void aRenewalAnsweredAfterTheEndDoesNotReviveTheLease() {
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
	void anExtensionThatIsAnsweredTooLateForItsCallerTakesEffect() {
		LockLease lease = granted(REQUEST, 10);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> lease.extend(Duration.ofMinutes(5)))
			.withMessageContaining("did not answer within 1000 ms");
		assertThat(lease.remaining()).isLessThan(Duration.ofSeconds(30));
		this.store.last("renew 1 for 300000").renewed(true);
		assertThat(lease.remaining()).isGreaterThan(Duration.ofMinutes(4));
	}

	@Test
	void maxHoldEndsTheRenewalOfAHangingHolder() {
		LockLease lease = granted(REQUEST.maxHold(Duration.ofSeconds(30)), 10);
		for (int i = 0; i < 2; i++) {
			this.store.elapse(10_000);
			this.store.last("renew 1").renewed(true);
		}
		this.store.sent();
		this.store.elapse(29_000);
		assertThat(this.store.sent()).isEmpty();
		assertThat(lease.isHeld()).isTrue();
		this.store.elapse(1000);
		assertThat(lease.isHeld()).isFalse();
	}

	@Test
	void aLostLeaseOfAThreadThatHasEndedIsForgotten() throws Exception {
		Thread thread = new Thread(() -> {
		});
		acquire(REQUEST.maxHold(Duration.ofSeconds(30)), thread);
		this.store.last("acquire 1").granted(10, 30_000);
		thread.start();
		thread.join();
		this.store.elapse(60_000);
		assertThat(isIdle()).isTrue();
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

	// Nested leases with their own terms

	private LockLease nested(LockRequest request) {
		return this.service.acquireAsync(request).join();
	}

	@Test
	void aRenewedLeaseInALeaseWithoutRenewalIsRenewedUntilItsRelease() {
		LockLease outer = granted(REQUEST.autoRenew(false), 10);
		this.store.elapse(20_000);
		this.store.sent();
		LockLease inner = nested(REQUEST.within(LeaseContext.empty().with(outer)));
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
		this.store.last("renew 1").renewed(true);
		assertThat(outer.releaseAsync()).isCompletedWithValue(ReleaseResult.RELEASED);
		this.store.elapse(10_000);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
		this.store.last("renew 1").renewed(true);
		assertThat(inner.isHeld()).isTrue();
		inner.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aLongLeaseInAShortLeaseLastsForItsTime() {
		LockLease outer = shortLease(REQUEST.leaseTime(Duration.ofSeconds(1)));
		LockLease inner = nested(
				REQUEST.leaseTime(Duration.ofSeconds(60)).autoRenew(false).within(LeaseContext.empty().with(outer)));
		this.store.sent();
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("renew 1 for 60000");
		this.store.last("renew 1").renewed(true);
		assertThat(inner.remaining()).isGreaterThan(Duration.ofSeconds(59));
		outer.releaseAsync();
		this.store.elapse(59_000);
		assertThat(inner.isHeld()).isTrue();
		this.store.elapse(1000);
		assertThat(inner.isHeld()).isFalse();
	}

	@Test
	void aLongLeaseInAShortLeaseIsRenewedByItsOwnTime() {
		LockLease outer = shortLease(REQUEST.leaseTime(Duration.ofSeconds(1)).autoRenew(false));
		LockLease inner = nested(REQUEST.leaseTime(Duration.ofSeconds(60)).within(LeaseContext.empty().with(outer)));
		this.store.sent();
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("renew 1 for 60000");
		this.store.last("renew 1").renewed(true);
		this.store.elapse(19_000);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1000);
		assertThat(this.store.sent()).containsExactly("renew 1 for 60000");
		assertThat(inner.remaining()).isGreaterThan(Duration.ofSeconds(39));
	}

	@Test
	void aShortLeaseInALongLeaseDoesNotShortenTheRenewals() {
		LockLease outer = granted(REQUEST, 10);
		nested(REQUEST.leaseTime(Duration.ofSeconds(1)).within(LeaseContext.empty().with(outer)));
		this.store.sent();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
	}

	private LockLease shortLease(LockRequest request) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire 1").granted(10, 1000);
		return answer.join();
	}

	@Test
	void aLeaseWithoutRenewalExpiresAfterTheReleaseOfItsRenewedOuterLease() {
		LockLease outer = granted(REQUEST, 10);
		LockLease inner = nested(REQUEST.autoRenew(false).within(LeaseContext.empty().with(outer)));
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(true);
		this.store.sent();
		assertThat(outer.releaseAsync()).isCompletedWithValue(ReleaseResult.RELEASED);
		this.store.elapse(29_000);
		assertThat(this.store.sent()).isEmpty();
		assertThat(inner.isHeld()).isTrue();
		this.store.elapse(1000);
		assertThat(inner.isHeld()).isFalse();
		assertThat(this.store.sent()).isEmpty();
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aLeaseWithoutRenewalIsExtendedAtTheReleaseOfItsRenewedOuterLease() {
		LockLease outer = granted(REQUEST, 10);
		this.store.elapse(9000);
		LockLease inner = nested(REQUEST.autoRenew(false).within(LeaseContext.empty().with(outer)));
		outer.releaseAsync();
		this.store.elapse(0);
		assertThat(this.store.sent()).endsWith("renew 1 for 30000");
		this.store.last("renew 1").renewed(true);
		this.store.elapse(29_600);
		assertThat(inner.isHeld()).isTrue();
	}

	@Test
	void maxHoldOfALeaseDoesNotEndTheRenewalOfItsNestedLease() {
		LockLease outer = granted(REQUEST.maxHold(Duration.ofSeconds(30)), 10);
		LockLease inner = nested(REQUEST.within(LeaseContext.empty().with(outer)));
		this.store.sent();
		for (int i = 0; i < 3; i++) {
			this.store.elapse(10_000);
			assertThat(this.store.sent()).containsExactly("renew 1 for 30000");
			this.store.last("renew 1").renewed(true);
		}
		inner.releaseAsync();
		this.store.elapse(29_000);
		assertThat(this.store.sent()).isEmpty();
		assertThat(outer.isHeld()).isTrue();
		this.store.elapse(1000);
		assertThat(outer.isHeld()).isFalse();
	}

	@Test
	void aLeaseWithoutRenewalIsExtendedThoughTheLongestLeaseIsPastItsMaxHold() {
		LockLease outer = granted(REQUEST.leaseTime(Duration.ofSeconds(21)).maxHold(Duration.ofSeconds(23)), 10);
		LeaseContext context = LeaseContext.empty().with(outer);
		this.store.answerAtOnce("renew 1 for 21000", (command) -> command.renewed(true));
		this.store.elapse(23_500);
		LockLease last = nested(REQUEST.leaseTime(Duration.ofSeconds(20)).autoRenew(false).within(context));
		LockLease renewed = nested(REQUEST.leaseTime(Duration.ofSeconds(20)).within(context));
		this.store.elapse(2000);
		this.store.sent();
		renewed.releaseAsync();
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("renew 1 for 18000");
		this.store.last("renew 1").renewed(true);
		outer.releaseAsync();
		this.store.elapse(17_000);
		assertThat(last.isHeld()).isTrue();
	}

	@ParameterizedTest
	@CsvSource({ "by hand, true", "by hand, false", "nested, true", "nested, false" })
	void aFailedReleaseIsRepeatedForTheTimeOfALongerRenewal(String way, boolean answered) {
		LockLease lease = granted(REQUEST, 100);
		if (way.equals("by hand")) {
			renewer().renewNow(renewer().holds(), 3_600_000);
		}
		else {
			LockLease nested = nested(REQUEST.leaseTime(Duration.ofHours(1)).within(LeaseContext.empty().with(lease)));
			this.store.elapse(1);
			nested.releaseAsync();
		}
		if (answered) {
			this.store.last("renew 1 for 3600000").renewed(true);
		}
		this.store.answerAtOnce("release 1", (command) -> command.fail(true));
		lease.releaseAsync();
		this.store.elapse(1_800_000);
		this.store.sent();
		this.store.elapse(60_000);
		assertThat(this.store.sent()).contains("release 1");
	}

	@Test
	void anErrorWhileBuildingABatchDoesNotEndRenewals() {
		LockLease lease = granted(REQUEST, 10);
		LockLease other = granted(LockRequest.of("other"), 10);
		this.store.sent();
		this.store.whileFindingPart = ScriptedStore::fail;
		this.store.elapse(10_000);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(10_000);
		assertThat(this.store.sent()).first().asString().contains("1 for").contains("2 for");
		this.store.last("renew").renewed(true, true);
		this.store.elapse(12_000);
		assertThat(lease.isHeld()).isTrue();
		assertThat(other.isHeld()).isTrue();
	}

	@Test
	void aLongerLeaseOpenedDuringAnAnswerToARenewalIsRenewedAtOnce() {
		LockLease lease = granted(REQUEST, 10);
		this.store.elapse(10_000);
		this.store.sent();
		LockRequest longer = REQUEST.leaseTime(Duration.ofSeconds(90)).within(LeaseContext.empty().with(lease));
		this.whileDrawing = () -> this.service.acquireAsync(longer);
		this.store.last("renew 1").renewed(true);
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("renew 1 for 90000");
	}

	@Test
	void aReleaseDuringAnAnswerToARenewalIsNoLoss() {
		List<RenewalOutcome> outcomes = new ArrayList<>();
		this.engine.observe(new EngineObserver() {

			@Override
			public void renewed(Kind kind, RenewalOutcome outcome) {
				outcomes.add(outcome);
			}

		});
		LockLease lease = granted(REQUEST, 10);
		this.store.elapse(10_000);
		this.whileDrawing = lease::releaseAsync;
		this.store.last("renew 1").renewed(true);
		assertThat(outcomes).doesNotContain(RenewalOutcome.LOST);
	}

}
