package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Lease of several keys, which is held while all of its parts are held.
 */
class MultiKeyLeaseTests extends ScriptedEngine {

	private static final LockRequest BOTH = LockRequest.ofAll(List.of("b", "a"))
		.waitTime(Duration.ofSeconds(10))
		.leaseTime(Duration.ofSeconds(30));

	@Test
	void eachKeyHasItsOwnFenceAndTheLeaseHasNone() {
		LockLease lease = grantedBoth(BOTH);
		assertThat(lease.fencingToken("a")).isEqualTo(10);
		assertThat(lease.fencingToken("b")).isEqualTo(20);
		assertThatIllegalStateException().isThrownBy(lease::fencingToken).withMessageContaining("fencingToken(key)");
		assertThatIllegalArgumentException().isThrownBy(() -> lease.fencingToken("c"))
			.withMessage("'c' is none of the keys of this lease, which are a, b");
		assertThat(lease.key()).isEqualTo("a, b");
		assertThat(lease).hasToString("MultiKeyLease[a, b, 29698 ms left]");
	}

	@Test
	void theLeaseEndsWithTheFirstPartToEnd() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(BOTH.autoRenew(false));
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.elapse(1000);
		this.store.last("acquire 2").granted(20, 30_000);
		this.store.last("renew 1 for 30000 2 for 30000").fail(true);
		LockLease lease = answer.join();
		assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(28_698));
		this.store.elapse(28_697);
		assertThat(lease.isHeld()).isTrue();
		lease.ensureHeld();
		this.store.elapse(1);
		assertThat(lease.isHeld()).isFalse();
		assertThat(lease.remaining()).isZero();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld)
			.withMessageContaining("lock 'a' (fencing token 10)");
		assertThat(lease).hasToString("MultiKeyLease[a, b, not held]");
	}

	@Test
	void aLossRunsActionsOnceForAnyNumberOfPartsAndNotAfterTheRelease() {
		this.store.parts.put("b", 1);
		LockLease lease = grantedBoth(BOTH);
		List<String> lost = new ArrayList<>();
		lease.onLost(() -> lost.add("lost"));
		this.store.elapse(10_000);
		this.store.last("renew 2").renewed(false);
		assertThat(lost).containsExactly("lost");
		assertThat(lease.isHeld()).isFalse();
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThat(lost).containsExactly("lost");
		lease.onLost(() -> lost.add("late"));
		assertThat(lost).containsExactly("lost", "late");
		lease.releaseAsync();
		lease.onLost(() -> lost.add("after its release"));
		assertThat(lost).hasSize(2);
	}

	@Test
	void aManualRenewalRenewsAllKeysTogether() {
		LockLease lease = grantedBoth(BOTH);
		this.store.answerAtOnce("renew 1 for 60000 2 for 60000", (command) -> command.renewed(true, true));
		lease.extend(Duration.ofMinutes(1));
		assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(59_398));
		assertThatIllegalArgumentException().isThrownBy(() -> lease.extend(Duration.ZERO))
			.withMessage("leaseTime of lock 'a, b' is PT0S, which is not from 1 ms to 365 days");
	}

	@Test
	void aManualRenewalDetectsALostPart() {
		LockLease lease = grantedBoth(BOTH);
		this.store.answerAtOnce("renew 1 for 60000 2 for 60000", (command) -> command.renewed(false, true));
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.extend(Duration.ofMinutes(1)))
			.withMessageContaining("'a'");
		this.store.sent();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lease.extend(Duration.ofMinutes(1)));
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aManualRenewalFailsIfAPartOfTheStoreFails() {
		this.store.parts.put("b", 1);
		LockLease lease = grantedBoth(BOTH);
		this.store.answerAtOnce("renew 1 for 60000", (command) -> command.renewed(true));
		this.store.answerAtOnce("renew 2 for 60000", (command) -> command.fail(true));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> lease.extend(Duration.ofMinutes(1)))
			.withMessageContaining("The renewal of lock 'a, b' failed");
		assertThat(lease.isHeld()).isTrue();
		assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(29_698));
	}

	@Test
	void closeThrowsNothing() {
		LockLease lease = grantedBoth(BOTH);
		this.store.answerAtOnce("release 1", (command) -> command.fail(true));
		this.store.answerAtOnce("release 2", (command) -> command.fail(true));
		lease.close();
		assertThat(this.store.sent()).contains("release 1", "release 2");
	}

	@Test
	void allKeysAreReleasedTogetherAndTheResultFollowsTheLastKey() {
		LockLease lease = grantedBoth(BOTH);
		this.store.sent();
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		assertThat(this.store.sent()).containsExactlyInAnyOrder("release 1", "release 2");
		assertThat(lease.isHeld()).isFalse();
		this.store.last("release 2").released(true);
		assertThat(result).isNotDone();
		this.store.last("release 1").released(true);
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.ALREADY_RELEASED);
		lease.close();
		assertThat(this.store.sent()).isEmpty();
		assertThat(isIdle()).isTrue();
	}

	@Test
	void onlyTheFirstOfTwoSimultaneousReleasesReleases() {
		LockLease lease = grantedBoth(BOTH);
		List<CompletableFuture<ReleaseResult>> second = new ArrayList<>();
		this.store.whileSending = (line) -> {
			if (line.equals("release 1")) {
				second.add(lease.releaseAsync());
			}
		};
		CompletableFuture<ReleaseResult> first = lease.releaseAsync();
		this.store.last("release 1").released(true);
		this.store.last("release 2").released(true);
		assertThat(first).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(second).singleElement()
			.satisfies((result) -> assertThat(result).isCompletedWithValue(ReleaseResult.ALREADY_RELEASED));
	}

	@Test
	void theLeaseIsLostIfAPartIsLost() {
		LockLease lease = grantedBoth(BOTH);
		this.store.parts.put("b", 1);
		this.store.elapse(10_000);
		this.store.last("renew 2").renewed(false);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.last("release 1").released(true);
		this.store.last("release 2").released(false);
		assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.ALREADY_RELEASED);
	}

	@Test
	void aReleaseWithAFailedPartIsNotConfirmed() {
		LockLease lease = grantedBoth(BOTH);
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		this.store.last("release 1").released(true);
		this.store.last("release 2").fail(true);
		assertFailed(result, LeaseStoreException.class, "The release of lock 'b' is not confirmed yet: trouble");
		this.store.sent();
		this.store.elapse(250);
		assertThat(this.store.sent()).containsExactly("release 2");
	}

	private LockLease grantedBoth(LockRequest request) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(request);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").granted(20, 30_000);
		return answer.join();
	}

}
