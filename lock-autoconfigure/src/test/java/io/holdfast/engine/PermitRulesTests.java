package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Queue of a semaphore: its waiters in the store, and their order.
 */
class PermitRulesTests extends ScriptedEngine {

	private static final SemaphoreRequest WAITING = SemaphoreRequest.of("k", 3).waitTime(Duration.ofSeconds(10));

	private static final SemaphoreRequest ONCE = WAITING.waitTime(Duration.ZERO);

	private static final int MANY = 200;

	private static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "k");

	@Test
	void waitersContendOnArrivalSoThatTheStoreHasTheirOrder() {
		acquire(WAITING.permits(3), 2);
		acquire(WAITING, 3);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2", "acquire 3", "acquire 4", "acquire 5");
	}

	@Test
	void aMaximumOfWaitersContendsAndTheRestFollowsInOrder() {
		acquire(WAITING, MANY + 3);
		assertThat(this.store.sent()).hasSize(MANY).endsWith("acquire " + MANY);
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire " + (MANY + 1));
		this.store.last("acquire 3").granted(11, 30_000);
		assertThat(this.store.sent()).containsExactly("acquire " + (MANY + 2));
	}

	@Test
	void aReleaseBringsInNoWaiterBeyondTheMaximum() {
		List<CompletableFuture<PermitLease>> first = acquire(WAITING, 1);
		this.store.last("acquire 1").granted(10, 30_000);
		acquire(WAITING, MANY + 1);
		this.store.sent();
		first.get(0).join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void anUnfairRequestPassesWaiters() {
		List<CompletableFuture<PermitLease>> first = acquire(WAITING, MANY + 2);
		this.store.sent();
		first.get(0).cancel(false);
		first.get(MANY).cancel(false);
		assertThat(this.store.sent()).containsExactly("release 1 next " + (MANY + 1),
				"release " + (MANY + 1) + " next " + (MANY + 2));
		acquire(WAITING, 1);
		this.semaphores.tryAcquireAsync(ONCE.fair(false));
		assertThat(this.store.sent()).containsExactly("acquire " + (MANY + 4) + " at once");
	}

	@Test
	void aRequestWithoutWaitingDoesNotPassWaiters() {
		acquire(WAITING, MANY + 1);
		this.store.sent();
		assertThat(this.semaphores.tryAcquireAsync(ONCE)).isCompletedWithValue(Optional.empty());
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void everyExitOfAContendingWaiterLetsTheNextWaiterAsk() {
		List<CompletableFuture<PermitLease>> waiting = acquire(WAITING, MANY + 3);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.sent();
		waiting.get(0).cancel(false);
		this.store.last("acquire 2").fail(false);
		this.store.last("acquire 3").rejected(2);
		assertThat(this.store.sent()).containsExactly("release 1 next " + (MANY + 1), "release 2 next " + (MANY + 2),
				"acquire " + (MANY + 3));
	}

	@Test
	void neitherHeldPermitsNorUnansweredQuestionsKeepRequestsFromTheStore() {
		acquire(WAITING, 1);
		this.store.last("acquire 1").granted(10, 30_000);
		this.semaphores.tryAcquireAsync(ONCE);
		acquire(WAITING, 1);
		this.store.last("acquire 3").busy(30_000, 10);
		acquire(WAITING, 2);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2 at once", "acquire 3", "acquire 4",
				"acquire 5");
	}

	@Test
	void aRequestAboveTheLimitAsksAtOnceDespiteWaiters() {
		acquire(WAITING, MANY + 1);
		this.store.sent();
		acquire(WAITING.permits(4), 1);
		this.semaphores.tryAcquireAsync(ONCE.permits(4));
		assertThat(this.store.sent()).containsExactly("acquire " + (MANY + 2), "acquire " + (MANY + 3) + " at once");
	}

	@Test
	void aRequestAboveTheLimitIsRefusedWithTheEffectiveLimit() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING.permits(3), 1);
		this.store.last("acquire 1").rejected(2);
		PermitNotAcquiredException failure = assertFailed(answers.get(0), PermitNotAcquiredException.class,
				"3 permits of semaphore 'k' (limit 2)");
		assertThat(failure.getReason()).isEqualTo(Reason.EXCEEDS_LIMIT);
		assertThat(failure.getPermits()).isEqualTo(3);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void theRefusalOfARequestWithoutAnyLimitNamesTheCure() {
		CompletableFuture<PermitLease> answer = this.semaphores.acquireAsync(SemaphoreRequest.of("k").waitForever());
		this.store.last("acquire 1").rejected(0);
		assertFailed(answer, PermitNotAcquiredException.class,
				"the request has no limit of its own, and no operator has set one above 0 (set one by"
						+ " SemaphoreService.admin().setLimit, or name one by SemaphoreRequest.of(key, limit)");
	}

	@Test
	void aWaiterRemovedFromTheQueueAsksForTheReason() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING.permits(3), 1);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.wakeUps.granted(SEMAPHORE, ID + ":1", 11, 0);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 1");
		this.store.last("acquire 1").rejected(2);
		assertThat(answers.get(0)).isCompletedExceptionally();
	}

	@Test
	void aFailureDoesNotEndAWaiterThatHasWaitedInTheInstance() {
		List<CompletableFuture<PermitLease>> answers = acquire(WAITING, MANY + 1);
		String last = "acquire " + (MANY + 1);
		this.store.last("acquire 1").granted(10, 30_000);
		this.store.last(last).fail(true);
		assertThat(answers.get(MANY)).isNotDone();
		this.store.elapse(300);
		this.store.last(last).granted(20, 30_000);
		assertThat(answers.get(MANY)).isCompleted();
	}

	@Test
	void permitsOfAThreadAreNotNested() {
		this.store.answering("acquire 1 at once", 10, () -> this.semaphores.acquire(SemaphoreRequest.of("k", 3)));
		this.store.answering("acquire 2 at once", 11, () -> this.semaphores.acquire(SemaphoreRequest.of("k", 3)));
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "acquire 2 at once");
	}

	private List<CompletableFuture<PermitLease>> acquire(SemaphoreRequest request, int times) {
		List<CompletableFuture<PermitLease>> answers = new ArrayList<>();
		for (int i = 0; i < times; i++) {
			answers.add(this.semaphores.acquireAsync(request));
		}
		return answers;
	}

}
