package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.Resource.Kind;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The rules of a semaphore's gate: who asks the store, and when.
 */
class PermitRulesTests extends ScriptedEngine {

	private static final SemaphoreRequest WAITING = SemaphoreRequest.of("k", 3).waitTime(Duration.ofSeconds(10));

	private static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "k");

	@Test
	void asManyContendAsTheLimitAdmits() {
		acquire(WAITING, 5);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3");
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire 4");
		this.store.last("acquire 2").granted(11, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire 5");
	}

	@Test
	void whatIsHeldHereDoesNotKeepOthersFromAsking() {
		acquire(WAITING.permits(3), 1);
		this.store.last("acquire 1").granted(10, 30_000);
		this.semaphores.tryAcquireAsync(WAITING.waitTime(Duration.ZERO));
		acquire(WAITING, 1);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2 at once", "acquire 3");
	}

	@Test
	void aBigRequestIsNotPassedBySmallOnes() {
		acquire(WAITING.permits(2), 1);
		acquire(WAITING.permits(2), 1);
		acquire(WAITING, 1);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire 2", "acquire 3");
	}

	@Test
	void anUnfairRequestPassesThoseThatWaitHere() {
		acquire(WAITING.permits(2), 2);
		acquire(WAITING.fair(false), 1);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 3");
	}

	@Test
	void anUnfairRequestThatWaitsHereIsNotKeptByABigOneBeforeIt() {
		List<CompletableFuture<PermitLease>> small = acquire(WAITING, 3);
		acquire(WAITING.permits(3), 1);
		acquire(WAITING.fair(false), 1);
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(small.get(0)).isCompleted();
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3", "acquire 5");
	}

	@Test
	void anAttemptWithoutWaitingDoesNotPassThoseThatWaitHere() {
		acquire(WAITING, 4);
		SemaphoreRequest once = WAITING.waitTime(Duration.ZERO);
		assertThat(this.semaphores.tryAcquireAsync(once)).isCompletedWithValue(Optional.empty());
		assertThat(this.store.sent()).hasSize(3);
		this.semaphores.tryAcquireAsync(once.fair(false));
		assertThat(this.store.sent()).containsExactly("acquire 6 at once");
	}

	@Test
	void attemptsWithoutWaitingDoNotKeepOthersFromContending() {
		for (int i = 0; i < 5; i++) {
			this.semaphores.tryAcquireAsync(WAITING.waitTime(Duration.ZERO));
		}
		acquire(WAITING, 3);
		assertThat(this.store.sent()).hasSize(8);
	}

	@Test
	void everyWayOutOfContendingLetsTheNextAsk() {
		List<CompletableFuture<PermitLease>> waiting = acquire(WAITING.permits(3), 4);
		this.store.last("acquire 1").busy(30_000, 10);
		waiting.get(0).cancel(false);
		this.store.last("acquire 2").fail(false);
		this.store.last("acquire 3").rejected(2);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2", "release 2", "acquire 3",
				"acquire 4");
	}

	@Test
	void aBigRequestThatGivesUpHereLetsThoseBehindItContend() {
		acquire(WAITING, 1);
		List<CompletableFuture<PermitLease>> big = acquire(WAITING.permits(3), 1);
		acquire(WAITING, 2);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		big.get(0).cancel(false);
		assertThat(this.store.sent()).containsExactly("acquire 3", "acquire 4");
	}

	@Test
	void aRequestAboveTheLimitAsksAtOnceWhoeverWaits() {
		acquire(WAITING, 4);
		assertThat(this.store.sent()).hasSize(3);
		acquire(WAITING.permits(4), 1);
		this.semaphores.tryAcquireAsync(WAITING.permits(4).waitTime(Duration.ZERO));
		assertThat(this.store.sent()).containsExactly("acquire 5", "acquire 6 at once");
	}

	@Test
	void aRequestAboveTheLimitIsRefusedWithTheLimitThatCounts() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING.permits(3), 1);
		this.store.last("acquire 1").rejected(2);
		assertThatExceptionOfType(CompletionException.class).isThrownBy(() -> answers.get(0).join()).satisfies((ex) -> {
			PermitNotAcquiredException cause = (PermitNotAcquiredException) ex.getCause();
			assertThat(cause.getReason()).isEqualTo(Reason.EXCEEDS_LIMIT);
			assertThat(cause.getPermits()).isEqualTo(3);
			assertThat(cause).hasMessageContaining("3 permits of semaphore 'k' (limit 2)");
		});
		assertThat(this.store.sent()).containsExactly("acquire 1");
		assertThat(this.engine.isIdle()).isTrue();
	}

	@Test
	void whoIsTakenOutOfTheQueueAsksWhy() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING.permits(3), 1);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.wakeUps.handedOver(SEMAPHORE, ID + ":1", 11, 0);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 1");
		this.store.last("acquire 1").rejected(2);
		assertThat(answers.get(0)).isCompletedExceptionally();
	}

	@Test
	void aHandOffIsHeldAndRenewed() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING.permits(2), 1);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.wakeUps.handedOver(SEMAPHORE, ID + ":1", 11, 5000);
		assertThat(answers.get(0).join().permits()).isEqualTo(2);
		this.store.elapse(1700);
		assertThat(this.store.sent()).contains("renew 1 for 30000");
	}

	@Test
	void aHandOffForNobodyIsGivenBack() {
		this.store.wakeUps.handedOver(SEMAPHORE, ID + ":77", 11, 5000);
		assertThat(this.store.sent()).containsExactly("release 77");
	}

	@Test
	void whoHasWaitedHereIsNotEndedByOneFailure() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING.permits(3), 2);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last("acquire 2").fail(true);
		assertThat(answers.get(1)).isNotDone();
		this.store.elapse(300);
		this.store.last("acquire 2").granted(20, 30_000);
		assertThat(answers.get(1)).isCompleted();
	}

	@Test
	void aSilentStoreIsNotToldAsNotEnoughFreePermits() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING.permits(3).waitTime(Duration.ofSeconds(1)), 2);
		this.store.elapse(1100);
		for (CompletableFuture<PermitLease> answer : answers) {
			assertThatExceptionOfType(CompletionException.class).isThrownBy(answer::join)
				.withCauseInstanceOf(LeaseStoreException.class);
		}
	}

	@Test
	void permitsOfOneThreadAreNotNested() {
		this.store.answering("acquire 1 at once", 10, () -> this.semaphores.acquire("k", 3));
		this.store.answering("acquire 2 at once", 11, () -> this.semaphores.acquire("k", 3));
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "acquire 2 at once");
	}

	@Test
	void permitsThatWereLostAreToldSoAtTheirRelease() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING, 1);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		PermitLease lease = answers.get(0).join();
		assertThat(lease.isHeld()).isFalse();
		CompletableFuture<ReleaseResult> released = lease.releaseAsync();
		this.store.last("release 1").released(false);
		assertThat(released).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(this.engine.isIdle()).isTrue();
	}

	private List<CompletableFuture<PermitLease>> acquire(SemaphoreRequest request, int times) {
		List<CompletableFuture<PermitLease>> answers = new ArrayList<>();
		for (int i = 0; i < times; i++) {
			answers.add(this.semaphores.acquireAsync(request));
		}
		return answers;
	}

}
