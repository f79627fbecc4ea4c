package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Queue of an instance: the waiter with the place in the store, and its successors.
 */
class ResourceQueueTests extends ScriptedEngine {

	@Test
	void aRequestWithoutWaitingFailsWithoutACommandBehindAWaiterOrHolder() {
		LockRequest once = REQUEST.waitTime(Duration.ZERO);
		CompletableFuture<LockLease> contender = this.service.acquireAsync(REQUEST);
		assertThat(this.service.tryAcquireAsync(once)).isCompletedWithValue(Optional.empty());
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(contender).isCompleted();
		assertThat(this.service.tryAcquireAsync(once)).isCompletedWithValue(Optional.empty());
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void aReleaseBringsInTheNextWaiterByTheSameCommand() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		this.store.last("release 1 next 2").granted(20, 30_000);
		assertThat(second.join().fencingToken()).isEqualTo(20);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
	}

	@Test
	void aCommandIsSentInTheEventThatNeedsItThoughTimePasses() {
		this.store.isMoving = true;
		LockLease lease = granted(REQUEST, 10);
		this.service.acquireAsync(REQUEST);
		this.service.acquireAsync(REQUEST.mode(LockMode.READ));
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2", "acquire 3");
	}

	@Test
	void theNextWaiterIsWokenUpBeforeTheReleaser() {
		LockLease lease = granted(REQUEST, 10);
		List<String> woken = new ArrayList<>();
		this.service.acquireAsync(REQUEST).thenRun(() -> woken.add("next"));
		lease.releaseAsync().thenRun(() -> woken.add("released"));
		this.store.last("release 1 next 2").granted(20, 30_000);
		assertThat(woken).containsExactly("next", "released");
	}

	@Test
	void theNextWaiterAsksByTimerAndDoesNotDependOnTheRelease() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		this.store.elapse(2500);
		assertThat(this.store.sent()).contains("acquire 2");
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(second).isCompleted();
	}

	@Test
	void aNextWaiterThatWasNotQueuedAsksAgain() {
		LockLease lease = granted(REQUEST, 10);
		this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		this.store.sent();
		this.store.last("release 1 next 2").released(false);
		assertThat(this.store.sent()).containsExactly("acquire 2");
	}

	@Test
	void aPlaceOutlivesItsWaiter() {
		CompletableFuture<LockLease> cancelled = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> brief = this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)));
		CompletableFuture<LockLease> failed = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> last = queued(REQUEST, 10);
		cancelled.cancel(false);
		this.store.elapse(1001);
		assertThat(brief).isCompletedExceptionally();
		assertThat(this.store.sent()).as("no command of a cancelled waiter").containsExactly("acquire 1");
		this.store.elapse(1500);
		this.store.last("acquire 1").fail(false);
		assertThat(failed).isCompletedExceptionally();
		assertThat(this.store.sent()).as("asked for the next waiter").containsExactly("acquire 1", "acquire 1");
		this.store.last("acquire 1").granted(20, 30_000);
		assertThat(last.join().fencingToken()).isEqualTo(20);
	}

	@Test
	void thePlaceOfTheLastWaiterIsReleased() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		first.cancel(false);
		second.cancel(false);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void aWaiterWithOtherTermsComesInWithTheReleaseOfThePlace() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST);
		this.service.acquireAsync(REQUEST.leaseTime(Duration.ofSeconds(20)));
		// The third request must not pass the second, though it fits the place.
		CompletableFuture<LockLease> third = this.service.acquireAsync(REQUEST);
		this.store.sent();
		first.cancel(false);
		assertThat(this.store.sent()).containsExactly("release 1 next 2");
		this.store.last("release 1").granted(10, 20_000);
		assertThat(third).isNotDone();
	}

	@Test
	void aBusyRequestWithoutWaitingPromotesTheNextWaiter() {
		CompletableFuture<Optional<LockLease>> once = this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1 at once").busy(30_000, 10);
		assertThat(once.join()).isEmpty();
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "acquire 2");
	}

	@Test
	void aCancelledPromotedWaiterLeavesItsTurnToTheNextWaiter() {
		LockLease lease = granted(REQUEST, 10);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> third = this.service.acquireAsync(REQUEST);
		lease.releaseAsync();
		ScriptedStore.Command release = this.store.last("release 1 next 2");
		second.cancel(false);
		assertThat(release.isCancelled()).as("the release of another").isFalse();
		release.granted(20, 30_000);
		assertThat(third.join().fencingToken()).isEqualTo(20);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 2");
	}

	@Test
	void aGrantForACancelledRequestIsReleased() {
		List<Runnable> later = new ArrayList<>();
		this.callbacks = later::add;
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(10, 30_000);
		answer.cancel(false);
		later.forEach(Runnable::run);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void aLossPromotesTheNextWaiterAtOnce() {
		granted(REQUEST, 10);
		this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(1)));
		this.store.elapse(10_000);
		this.store.sent();
		this.store.last("renew 1").renewed(false);
		assertThat(this.store.sent()).containsExactly("acquire 2");
	}

	@Test
	void theEndOfValidityPromotesTheNextWaiterWithoutRenewal() {
		LockLease lease = granted(REQUEST.autoRenew(false), 10);
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
	void aReplacedHolderReleasesOnlyItsOwnToken() {
		LockLease lost = granted(REQUEST.autoRenew(false), 10);
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
	void anExpiredLeaseKeepsNothing() {
		LockLease expired = granted(REQUEST.autoRenew(false), 10);
		this.store.elapse(29_698);
		assertThat(isIdle()).isTrue();
		LockLease second = granted(REQUEST, 20);
		this.store.sent();
		CompletableFuture<ReleaseResult> late = expired.releaseAsync();
		this.store.last("release 1").released(false);
		assertThat(late).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(second.isHeld()).isTrue();
		assertThat(isIdle()).isFalse();
		second.releaseAsync();
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aThreadMayLockAgainAfterTheExpiryOfALeaseWithoutRenewal() {
		CompletableFuture<LockLease> first = CompletableFuture.completedFuture(
				this.store.answering("acquire 1", 10, () -> this.service.acquire(REQUEST.autoRenew(false))));
		this.store.elapse(29_698);
		LockLease again = this.store.answering("acquire 2", 20, () -> this.service.acquire(REQUEST));
		assertThat(again.fencingToken()).isEqualTo(20);
		assertThat(first.join().isHeld()).isFalse();
	}

	@ParameterizedTest
	@EnumSource
	void aLossFailsRequestsOfItsThreadUntilTheRelease(LockMode mode) {
		LockRequest request = REQUEST.mode(mode);
		LockLease lost = this.store.answering("acquire 1", 10, () -> this.service.acquire(request));
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.service.acquire(request))
			.withMessageContaining("'k'");
		lost.releaseAsync();
		LockLease again = this.store.answering("acquire 3", 20, () -> this.service.acquire(request));
		assertThat(again.fencingToken()).isEqualTo(20);
	}

}
