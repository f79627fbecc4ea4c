package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Minimum hold: an early release retains the key for the rest of the minHold.
 */
class RetentionRulesTests extends ScriptedEngine {

	private static final LockRequest RETAINED = REQUEST.minHold(Duration.ofSeconds(20));

	private static final LockRequest ONCE = REQUEST.waitTime(Duration.ZERO);

	private static final Duration SOON = Duration.ofSeconds(10);

	@Test
	void anEarlyReleaseRetainsTheKeyUntilTheEndOfTheMinHold() {
		LockLease lease = granted(RETAINED, 10);
		this.store.elapse(5000);
		this.store.sent();
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("retain 1 for 15000");
		assertThat(lease.isHeld()).isFalse();
		assertThat(result).isNotDone();
		this.store.last("retain 1").retained(true);
		assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.ALREADY_RELEASED);
		this.store.elapse(14_999);
		assertThat(this.store.sent()).as("not renewed either").isEmpty();
		assertThat(isIdle()).isFalse();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.last("release 1").released(true);
		assertThat(isIdle()).isTrue();
		assertThat(this.store.plannedCount()).isZero();
	}

	@Test
	void aPartOfAMillisecondCountsAsAMillisecond() {
		granted(REQUEST.minHold(Duration.ofNanos(1_000_001)), 10).releaseAsync();
		assertThat(this.store.sent()).endsWith("retain 1 for 2");
	}

	@Test
	void theReleaseIsScheduledAfterTheRetentionIsSent() {
		LockLease lease = granted(RETAINED, 10);
		List<Integer> planned = new ArrayList<>();
		this.store.whileSending = (line) -> planned.add(this.store.plannedCount());
		int before = this.store.plannedCount();
		lease.releaseAsync();
		assertThat(planned).containsExactly(before);
		assertThat(this.store.plannedCount()).isGreaterThan(before);
	}

	@Test
	void aWaivedMinHoldReleasesAtOnce() {
		LockLease lease = granted(RETAINED, 10);
		lease.waiveMinHold();
		assertThat(lease.isHeld()).isTrue();
		this.store.sent();
		CompletableFuture<ReleaseResult> result = lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		this.store.last("release 1").released(false);
		assertThat(result).as("a loss is still detected").isCompletedWithValue(ReleaseResult.LOST);
	}

	@Test
	void aReleaseAfterTheMinHoldReleasesAtOnce() {
		LockLease lease = granted(RETAINED, 10);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(true);
		this.store.elapse(10_000);
		this.store.sent();
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void readersAndPermitsAreRetainedToo() {
		LockLease reading = granted(RETAINED.mode(LockMode.READ), 10);
		CompletableFuture<PermitLease> permits = this.semaphores
			.acquireAsync(SemaphoreRequest.of("k", 3).permits(2).minHold(Duration.ofSeconds(5)));
		this.store.last("acquire 2").granted(0, 30_000);
		reading.releaseAsync();
		permits.join().releaseAsync();
		assertThat(this.store.sent()).endsWith("retain 1 for 20000", "retain 2 for 5000");
		this.store.elapse(20_000);
		assertThat(this.store.sent()).contains("release 2", "release 1");
	}

	@Test
	void aWakeUpForARetainedTokenChangesNothing() {
		granted(RETAINED, 10).releaseAsync();
		this.store.last("retain 1").retained(true);
		this.store.sent();
		handOver(1, 20, 5000);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(20_000);
		this.store.last("release 1").released(true);
		this.store.sent();
		handOver(1, 30, 5000);
		assertThat(this.store.sent()).as("after the retention").containsExactly("release 1");
	}

	@Test
	void waitersOfTheInstanceWaitInTheStoreDuringTheRetention() {
		LockLease lease = granted(RETAINED, 10);
		CompletableFuture<LockLease> waiting = this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(1)));
		this.store.sent();
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("retain 1 for 20000", "acquire 2");
		CompletableFuture<Optional<LockLease>> once = this.service.tryAcquireAsync(ONCE);
		assertThat(once).as("behind the waiter").isCompletedWithValue(Optional.empty());
		waiting.cancel(false);
		this.service.tryAcquireAsync(ONCE);
		assertThat(this.store.sent()).containsExactly("release 2", "acquire 4 at once");
	}

	@Test
	void aThreadGetsNoNestedLeaseOfARetainedKey() {
		LockLease lease = this.store.answering("acquire 1", 10, () -> this.service.acquire(RETAINED));
		lease.releaseAsync();
		this.store.answerAtOnce("acquire 2 at once", (command) -> command.busy(20_000, 10));
		assertThat(this.service.tryAcquire(ONCE)).isEmpty();
		LeaseContext context = LeaseContext.empty().with(lease);
		assertThat(this.service.acquireAsync(REQUEST.within(context))).isNotDone();
	}

	@Test
	void theLastReleaseRetainsForTheMinHoldOfTheFirstLease() {
		LockLease outer = this.store.answering("acquire 1", 10, () -> this.service.acquire(RETAINED));
		LockLease inner = this.service.acquire(REQUEST.minHold(Duration.ofDays(1)));
		this.store.sent();
		outer.releaseAsync();
		assertThat(this.store.sent()).isEmpty();
		inner.releaseAsync();
		assertThat(this.store.sent()).containsExactly("retain 1 for 20000");
	}

	@Test
	void aLostLeaseIsNotRetained() {
		LockLease lease = granted(RETAINED, 10);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(false);
		this.store.sent();
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		LockLease expired = granted(RETAINED.only("other").minHold(Duration.ofSeconds(30)).autoRenew(false), 10);
		this.store.elapse(29_698);
		expired.releaseAsync();
		assertThat(this.store.sent()).endsWith("release 2").noneMatch((line) -> line.startsWith("retain"));
	}

	@Test
	void aGrantWithoutACallerIsNotRetained() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(RETAINED);
		this.store.whileReadingTheClock = () -> answer.cancel(false);
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.store.sent()).endsWith("release 1").noneMatch((line) -> line.startsWith("retain"));
	}

	@Test
	void aLeaseOfACallerIsRetainedThoughItsNestedLeaseHadNoCaller() {
		LockLease outer = granted(RETAINED, 10);
		List<Runnable> later = new ArrayList<>();
		this.callbacks = later::add;
		LeaseContext context = LeaseContext.empty().with(outer);
		CompletableFuture<LockLease> inner = this.service.acquireAsync(RETAINED.within(context));
		outer.releaseAsync();
		inner.cancel(false);
		this.store.sent();
		later.forEach(Runnable::run);
		assertThat(this.store.sent()).containsExactly("retain 1 for 20000");
	}

	@Test
	void anUnconfirmedRetentionFailsAndIsRepeatedUntilTheEndOfTheLease() {
		CompletableFuture<ReleaseResult> result = granted(RETAINED.minHold(Duration.ofHours(1)), 10).releaseAsync();
		this.store.last("retain 1").fail(false);
		assertUnconfirmed(result, "trouble");
		this.store.sent();
		this.store.elapse(250);
		assertThat(this.store.sent()).containsExactly("retain 1 for 3599750");
		this.store.last("retain 1").fail(true);
		this.store.elapse(500);
		this.store.last("retain 1 for 3599250").fail(true);
		this.store.sent();
		this.store.elapse(28_900);
		assertThat(this.store.sent()).hasSizeBetween(1, 10);
		this.store.elapse(60_000);
		assertThat(this.store.sent()).as("the lease is over").isEmpty();
		this.store.elapse(3_510_350);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aRetentionWithoutAnswerFailsAfterTheCommandTimeoutAndIsRepeated() {
		LockLease lease = granted(RETAINED, 10);
		CompletableFuture<ReleaseResult> blocked = CompletableFuture.supplyAsync(lease::release);
		await().until(() -> this.store.sent().contains("retain 1 for 20000"));
		ScriptedStore.Command silent = this.store.last("retain 1");
		this.store.elapse(1000);
		assertThat(blocked).failsWithin(SOON).withThrowableOfType(ExecutionException.class);
		assertUnconfirmed(blocked, "did not answer within 1000 ms");
		assertThat(silent.isCancelled()).isTrue();
		this.store.elapse(250);
		this.store.last("retain 1 for 18750").retained(true);
		this.store.sent();
		this.store.elapse(18_749);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aShutdownWaitsForTheRetentionAndNotForItsEnd() {
		LockLease lease = granted(RETAINED, 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofMinutes(1));
		lease.releaseAsync();
		assertThat(shutDown).isNotDone();
		this.store.last("retain 1").retained(true);
		assertThat(shutDown).isCompleted();
		assertThat(this.store.listening).isFalse();
	}

	@Test
	void aLeaseEndedByAShutdownIsRetained() {
		LockLease lease = granted(RETAINED, 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(1));
		this.store.sent();
		this.store.elapse(1000);
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("retain 1 for 19000");
		this.store.last("retain 1").retained(true);
		assertThat(shutDown).isCompleted();
		assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseResult.LOST);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(19_000);
		assertThat(this.store.sent()).containsExactly("release 1");
		assertThat(isIdle()).isTrue();
	}

	@Test
	void aLeaseEndedByAShutdownIsRetainedThoughItsLossActionReleases() {
		LockLease lease = granted(RETAINED, 10);
		lease.onLost(lease::releaseAsync);
		this.engine.shutDown(Duration.ofSeconds(1));
		this.store.sent();
		this.store.elapse(1000);
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("retain 1 for 19000");
	}

	@Test
	void aShutdownWaitsForASilentStoreOnlyForTheCommandTimeout() {
		LockLease lease = granted(RETAINED, 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofMinutes(1));
		lease.releaseAsync();
		this.store.elapse(999);
		assertThat(shutDown).isNotDone();
		this.store.elapse(1);
		assertThat(shutDown).isCompleted();
	}

	private static void assertUnconfirmed(CompletableFuture<?> answer, String reason) {
		assertFailed(answer, LeaseStoreException.class, "The minHold of lock 'k' is not confirmed yet: ", reason);
	}

}
