package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.ScriptedStore.Command;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Failures, silence and outages of the store during a wait: repeated questions, and
 * reports to the caller.
 */
class StoreTroubleRulesTests extends ScriptedEngine {

	private static final Duration SHORT = Duration.ofSeconds(1);

	@Test
	void theStoreIsAskedAgainAfterAShortFailure() {
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
	void aFailingStoreIsReportedAfterTheOutagePatience() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(true);
		this.store.elapse(3000);
		this.store.last("acquire 1").fail(true);
		assertFailed(answer, LeaseStoreException.class);
		this.store.sent();
		this.store.last("release 1").released(false);
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void aFailingStoreIsReportedToAnyNumberOfWaiters() {
		List<CompletableFuture<LockLease>> answers = Stream.generate(() -> this.service.acquireAsync(REQUEST))
			.limit(settings().maxWaitersPerKey())
			.toList();
		this.store.elapse(3000);
		this.store.last("acquire 1").fail(true);
		assertThat(answers.stream().filter(CompletableFuture::isDone).count()).isEqualTo(answers.size());
	}

	private void assertReportedAfterPatience(CompletableFuture<LockLease> answer) {
		this.store.elapse(2999);
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertFailed(answer, LeaseStoreException.class, "cannot be reached");
	}

	@Test
	void aQuestionThatMayHaveBeenSentIsFollowedByARelease() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.loseConnection();
		assertReportedAfterPatience(answer);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void aQuestionThatWasNeverSentIsFollowedByNoRelease() {
		this.store.loseConnection();
		assertReportedAfterPatience(this.service.acquireAsync(REQUEST));
		CompletableFuture<LockLease> another = this.service.acquireAsync(REQUEST);
		another.cancel(true);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2");
	}

	@Test
	void aQuestionSentByTheNextConnectionIsFollowedByARelease() {
		this.store.loseConnection();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.connectAgain();
		answer.cancel(true);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
	}

	@Test
	void anUnreachableStoreIsReportedToARequestWithoutWaitingBehindAWaiter() {
		this.store.loseConnection();
		this.service.acquireAsync(REQUEST);
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		assertFailed(answer, LeaseStoreException.class);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void theOutagePatienceBeginsWithTheLostConnectionAfterAFailureOrSilence(boolean failed) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(failed ? REQUEST.waitForever() : REQUEST);
		if (failed) {
			this.store.last("acquire 1").fail(true);
		}
		this.store.elapse(failed ? 100 : 4000);
		this.store.loseConnection();
		this.store.elapse(2999);
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertFailed(answer, LeaseStoreException.class, "cannot be reached");
	}

	@Test
	void anUnreachableStoreIsReportedAtOnceWithoutOutagePatience() {
		this.store.loseConnection();
		CompletableFuture<LockLease> answer = service(settings().commandTimeout(), Duration.ZERO).acquireAsync(REQUEST);
		this.store.elapse(0);
		assertFailed(answer, LeaseStoreException.class, "cannot be reached");
	}

	@Test
	void aRequestWithoutWaitingEndsWithAShortCommandTimeout() {
		CompletableFuture<Optional<LockLease>> answer = service(Duration.ofMillis(50), settings().outagePatience())
			.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		this.store.elapse(49);
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertFailed(answer, LeaseStoreException.class);
	}

	private LockService service(Duration commandTimeout, Duration outagePatience) {
		EngineSettings base = settings();
		EngineSettings changed = new EngineSettings(base.waitTime(), base.leaseTime(), null, base.lossMargin(),
				base.semaphoreWaitTime(), base.semaphoreLeaseTime(), true, base.handoffTimeout(), base.retryInterval(),
				commandTimeout, outagePatience, base.maxWaiters(), base.maxWaitersPerKey(), base.lockHandOver(),
				base.semaphoreHandOver());
		return new DefaultLockService(
				new LeaseEngine(this.store, changed, this.store, Runnable::run, () -> ID, () -> 1.0));
	}

	@Test
	void aWaitBehindAHolderOfTheInstanceReportsTheHolderAlsoDuringAnOutage() {
		granted(REQUEST, 10);
		this.store.loseConnection();
		assertThat(this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO)))
			.isCompletedWithValue(Optional.empty());
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(10_000);
		assertFailed(answer, LockNotAcquiredException.class, "was not acquired after 10000 ms: still held by instance");
	}

	@Test
	void aThreadThatEndsItsOverdueWaitGetsTheErrorOfTheTimer() {
		granted(REQUEST, 10);
		for (LockRequest request : List.of(REQUEST, LockRequest.ofAll(List.of("k", "l")))) {
			PendingAcquisition<?> waiting = acquire(request.waitTime(SHORT), new Thread());
			this.store.pause(SHORT.toMillis());
			waiting.endOverdue();
			assertFailed(waiting.result, LockNotAcquiredException.class);
		}
		PendingAcquisition<?> unanswered = acquire(REQUEST.only("other").waitTime(SHORT), new Thread());
		this.store.pause(SHORT.toMillis());
		unanswered.endOverdue();
		assertFailed(unanswered.result, LeaseStoreException.class);
	}

	@Test
	void aWaitGoesOnAfterTheConnectionReturns() {
		this.store.loseConnection();
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(2000);
		this.store.connectAgain();
		this.store.elapse(7999);
		assertThat(answer).isNotDone();
	}

	@Test
	void anUnreachableStoreKeepsASingleCommandOfEachToken() {
		LockLease lease = granted(REQUEST.only("other"), 10);
		CompletableFuture<LockLease> answer = queued(REQUEST, 10);
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
	void aReleaseKeptDuringAnOutageIsRepeatedAfterTheOutage() {
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
	void theNextWaiterForASilentStoreHasItsOwnDeadline() {
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST.waitTime(Duration.ofSeconds(1)));
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		this.store.elapse(9999);
		assertFailed(first, LeaseStoreException.class);
		assertThat(second).isNotDone();
		// At the existing place.
		this.store.last("acquire 1").granted(20, 30_000);
		assertThat(second).isCompletedWithValueMatching((lease) -> lease.fencingToken() == 20);
	}

	@Test
	void anUnreachableStoreDoesNotEndAWaitBehindAHolder() {
		CompletableFuture<LockLease> answer = queued(REQUEST, 10);
		this.store.loseConnection();
		this.store.elapse(9_999);
		assertThat(answer).isNotDone();
	}

	static Stream<Arguments> failures() {
		return Stream.of(failure("trouble", (command) -> command.fail(true)),
				failure("few replicas", Command::unconfirmed), failure("moving", Command::notYet));
	}

	private static Arguments failure(String message, Consumer<Command> answer) {
		return Arguments.of(message, answer);
	}

	@ParameterizedTest
	@MethodSource("failures")
	void aFailureIsReportedAtOnceToARequestWithoutWaiting(String message, Consumer<Command> answer) {
		CompletableFuture<LockLease> request = this.service.acquireAsync(REQUEST.waitTime(Duration.ZERO));
		answer.accept(this.store.last("acquire 1 at once"));
		assertFailed(request, LeaseStoreException.class, message);
		assertThat(this.store.sent()).containsExactly("acquire 1 at once", "release 1");
	}

	@Test
	void aPermanentFailureIsReportedAtOnce() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(false);
		assertFailed(answer, LeaseStoreException.class);
	}

	@Test
	void aFailureIsReportedAtTheEndOfAShortWait() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.waitTime(Duration.ofMillis(500)));
		this.store.last("acquire 1").fail(true);
		this.store.elapse(499);
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertFailed(answer, LeaseStoreException.class);
	}

	@Test
	void aFailureAfterTheOutagePatienceIsReportedDespiteANewerQuestion() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		Command first = this.store.last("acquire 1");
		this.store.elapse(3000);
		Command second = this.store.last("acquire 1");
		assertThat(second).isNotSameAs(first);
		this.store.sent();
		first.fail(true);
		assertFailed(answer, LeaseStoreException.class);
		assertThat(second.isCancelled()).isTrue();
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void anUnconfirmedGrantIsRequestedAgainByItsTokenWithinTheWait() {
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
	void aNeverConfirmedGrantIsReleasedAtTheEndOfTheWait() {
		this.store.answerAtOnce("acquire 1", Command::unconfirmed);
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		// Longer than the outage patience.
		this.store.elapse(9999);
		assertThat(answer).isNotDone();
		this.store.sent();
		this.store.elapse(1);
		assertFailed(answer, LeaseStoreException.class, "few replicas");
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	void aStoreThatIsNotReadyIsAskedAgainWithinTheWaitAndReportedAtItsEnd() {
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
		assertFailed(answer, LeaseStoreException.class, "moving");
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(behind).isCompleted();
	}

	@Test
	void aFailureAfterABusyAnswerIsReportedAtTheEndOfTheWait() {
		CompletableFuture<LockLease> answer = queued(REQUEST, 10);
		this.store.elapse(2500);
		this.store.last("acquire 1").fail(true);
		assertThat(answer).isNotDone();
		this.store.elapse(8000);
		assertFailed(answer, LeaseStoreException.class);
	}

	@Test
	void aWaitShorterThanAnAnswerStillGetsTheAnswer() {
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
		assertFailed(silent, LeaseStoreException.class);
	}

	@Test
	void aWaitThatEndsBeforeTheFirstQuestionStillGetsTheAnswer() {
		this.store.isMoving = true;
		LockRequest brief = REQUEST.waitTime(Duration.ofNanos(1));
		CompletableFuture<LockLease> free = this.service.acquireAsync(brief);
		this.store.elapse(1);
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(free).isCompleted();
		CompletableFuture<Optional<LockLease>> heldHere = this.service.tryAcquireAsync(brief);
		this.store.elapse(1);
		assertThat(heldHere).isCompletedWithValue(Optional.empty());
	}

	@Test
	void aShutdownWaitsForTheReleaseOfAnEndedWait() {
		CompletableFuture<LockLease> waiting = queued(REQUEST, 10);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(10));
		assertThat(waiting).isCompletedExceptionally();
		assertThat(shutDown).as("the release is unanswered").isNotDone();
		this.store.last("release 1").released(false);
		assertThat(shutDown).isCompleted();
	}

	@Test
	void anAnswerClearsEarlierUnansweredQuestions() {
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		// This question stays unanswered.
		this.store.last("acquire 1");
		this.store.elapse(2500);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(2500);
		assertThat(answer).isCompletedWithValue(Optional.empty());
	}

	@Test
	void aFailureOfAQuestionOlderThanTheLastAnswerDoesNotCount() {
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

	@Test
	void aQuestionUnansweredForTheAnswerTimeOfTheStoreHasFailed() {
		this.store.answerNanos = TimeUnit.MILLISECONDS.toNanos(1900);
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.sent();
		this.store.elapse(1899);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1000);
		assertThat(this.store.sent()).containsExactly("acquire 1");
		assertThat(answer).isNotDone();
		this.store.elapse(1900);
		assertFailed(answer, LeaseStoreException.class, "the store (Redis) did not answer within 1900 ms");
	}

	@Test
	void aQuestionAfterASilenceMayBeAnsweredInTime() {
		this.store.answerNanos = TimeUnit.MILLISECONDS.toNanos(1900);
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(2900);
		this.store.last("acquire 1").granted(7, 30_000);
		assertThat(answer).isCompletedWithValueMatching((lease) -> lease.fencingToken() == 7);
	}

	@Test
	void aWaitBehindAHolderGoesOnDespiteUnansweredQuestions() {
		this.store.answerNanos = TimeUnit.MILLISECONDS.toNanos(1900);
		CompletableFuture<Optional<LockLease>> answer = this.service.tryAcquireAsync(REQUEST);
		this.store.last("acquire 1").busy(30_000, 10);
		this.store.elapse(9000);
		assertThat(answer).isNotDone();
		this.store.elapse(2000);
		assertFailed(answer, LeaseStoreException.class);
	}

	@Test
	void theOldestUnansweredQuestionEndsTheWait() {
		this.store.answerNanos = TimeUnit.MILLISECONDS.toNanos(3100);
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST);
		this.store.elapse(3099);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 1");
		assertThat(answer).isNotDone();
		this.store.elapse(1);
		assertThat(answer).isCompletedExceptionally();
	}

	@Test
	void theCommandsOfAReleaseAreCancelledAfterTheEndOfTheLease() {
		List<Command> releases = releasedWithoutAnAnswer();
		assertThat(releases).noneMatch(Command::isCancelled);
		this.store.elapse(100_000);
		assertThat(releases).allMatch(Command::isCancelled);
		assertThat(this.store.last("release 1").isCancelled()).isTrue();
	}

	@Test
	void anAnswerCancelsTheEarlierCommandsOfARelease() {
		List<Command> releases = releasedWithoutAnAnswer();
		releases.get(1).released(true);
		assertThat(releases.get(0).isCancelled()).isTrue();
		this.store.sent();
		this.store.elapse(100_000);
		assertThat(this.store.sent()).isEmpty();
	}

	private List<Command> releasedWithoutAnAnswer() {
		LockLease answer = granted(REQUEST, 7);
		answer.releaseAsync();
		Command first = this.store.last("release 1");
		this.store.elapse(2000);
		Command second = this.store.last("release 1");
		assertThat(second).isNotSameAs(first);
		return List.of(first, second);
	}

}
