package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.async.LeaseInternals;
import io.holdfast.engine.ScriptedStore.Command;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Releases whose callers do not await the answer of the store, and requests without
 * waiting behind them. Nothing guarantees the order of the two commands.
 */
@ExtendWith(OutputCaptureExtension.class)
class UnawaitedReleaseTests extends ScriptedEngine {

	UnawaitedReleaseTests() {
		super(STRICT);
	}

	private LockLease lock(int number) {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(LockRequest.of("k" + number));
		this.store.last("acquire " + number).granted(100, 30_000);
		return answer.join();
	}

	private static CompletableFuture<?> send(Lease lease) {
		return ((LeaseInternals) lease).sendRelease();
	}

	@Test
	@DisplayName("close() sends the release, and returns without the answer")
	void close() {
		LockLease lease = lock(1);
		lease.close();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1");
		assertThat(lease.isHeld()).isFalse();
		assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		lease.close();
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	@DisplayName("withLockAsync sends the release, and completes without the answer")
	void withLockAsync() {
		this.store.answerAtOnce("acquire 1", (command) -> command.granted(100, 30_000));
		assertThat(this.service.withLockAsync(REQUEST, () -> CompletableFuture.completedFuture(5)))
			.isCompletedWithValue(5);
		assertThat(this.store.sent()).endsWith("release 1");
	}

	@Test
	@DisplayName("close() retains a lease for its minHold, and returns without the answer")
	void minHold() {
		LockLease answer = granted(REQUEST.minHold(Duration.ofSeconds(5)), 100);
		answer.close();
		assertThat(this.store.sent()).endsWith("retain 1 for 5000");
	}

	@Test
	@DisplayName("Beyond 1,000 unanswered releases, the next release is awaited")
	void limit() {
		int limit = 1_000;
		List<LockLease> leases = IntStream.rangeClosed(1, limit + 2).mapToObj(this::lock).toList();
		leases.stream().limit(limit).forEach((lease) -> assertThat(send(lease)).isCompleted());
		CompletableFuture<?> waited = send(leases.get(limit));
		assertThat(waited).isNotDone();
		this.store.last("release " + (limit + 1)).released(true);
		assertThat(waited).isCompleted();
		this.store.last("release 1").released(true);
		assertThat(send(leases.get(limit + 1))).isCompleted();
	}

	@Test
	@DisplayName("A loss found by an unawaited release runs the actions")
	void lateLoss(CapturedOutput output) {
		AtomicInteger losses = new AtomicInteger();
		LockLease lease = lock(1);
		lease.onLost(losses::incrementAndGet);
		lease.close();
		assertThat(losses).hasValue(0);
		this.store.last("release 1").released(false);
		assertThat(losses).hasValue(1);
		assertThat(output).containsOnlyOnce("was lost before it was released");
	}

	@Test
	@DisplayName("Failed releases are repeated, and logged once until a release is answered")
	void failures(CapturedOutput output) {
		List<LockLease> leases = IntStream.rangeClosed(1, 4).mapToObj(this::lock).toList();
		leases.get(0).close();
		leases.get(1).close();
		this.store.last("release 1").fail(true);
		this.store.last("release 2").fail(true);
		assertThat(output).containsOnlyOnce("is not confirmed yet")
			.contains("The release of lock 'k1' is not confirmed yet: trouble");
		this.store.sent();
		this.store.elapse(400);
		assertThat(this.store.sent()).containsExactly("release 1", "release 2");
		leases.get(2).close();
		this.store.last("release 3").released(true);
		leases.get(3).close();
		this.store.last("release 4").fail(true);
		assertThat(output).contains("The release of lock 'k4' is not confirmed yet: trouble");
	}

	@Test
	@DisplayName("The end of a nested lease is no answer of the store, so that failures are not logged again")
	void nestedLeases(CapturedOutput output) {
		this.store.answerAtOnce("acquire 1", (command) -> command.granted(100, 30_000));
		this.service.acquire(LockRequest.of("k1"));
		for (int number = 2; number <= 4; number += 2) {
			lock(number).close();
			this.store.last("release " + number).fail(true);
			this.service.acquire(LockRequest.of("k1")).close();
		}
		assertThat(output).containsOnlyOnce("is not confirmed yet");
	}

	@Test
	@DisplayName("A short wait that ends before the repetition of a failed release reports the store")
	void shortWaitBehindFailedRelease() {
		lock(1).close();
		this.store.last("release 1").fail(true);
		CompletableFuture<LockLease> next = this.service
			.acquireAsync(LockRequest.of("k1").waitTime(Duration.ofMillis(100)));
		this.store.last("acquire 2").busy(1000, 100);
		this.store.elapse(150);
		assertFailed(next, LeaseStoreException.class);
	}

	@Test
	@DisplayName("A shutdown waits for the repetition of a failed release, at most for the command timeout")
	void shutDownAfterFailure() {
		lock(1).close();
		lock(2).close();
		this.store.last("release 1").fail(true);
		this.store.last("release 2").fail(true);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ofSeconds(5));
		this.store.elapse(400);
		this.store.last("release 1").released(true);
		assertThat(shutDown).isNotDone();
		this.store.elapse(700);
		assertThat(shutDown).isCompleted();
	}

	static Stream<LockRequest> laterRequests() {
		return Stream.of(LockRequest.of("k1").mode(LockMode.READ), LockRequest.ofAll(List.of("k1", "k2")));
	}

	@ParameterizedTest
	@MethodSource("laterRequests")
	@DisplayName("A request without waiting, for another mode or several keys, is sent again after the release of its key")
	void otherRequest(LockRequest request) {
		lock(1).close();
		CompletableFuture<LockLease> next = this.service.acquireAsync(request.waitTime(Duration.ZERO));
		this.store.last("acquire 2 at once").busy(1000, 100);
		assertThat(next).isNotDone();
		this.store.answerAtOnce("acquire 3 at once", (command) -> command.granted(200, 30_000));
		this.store.last("release 1").released(true);
		this.store.last("acquire 2 at once").granted(200, 30_000);
		assertThat(next).isCompletedWithValueMatching(LockLease::isHeld);
	}

	@Test
	@DisplayName("A request without waiting is sent again if both answers come before its thread continues")
	void answeredEarly() {
		lock(1).close();
		this.store.whileSending = (line) -> {
			this.store.whileSending = (next) -> {
			};
			this.store.last("acquire 2 at once").busy(1000, 100);
			this.store.last("release 1").released(true);
		};
		CompletableFuture<LockLease> next = this.service.acquireAsync(LockRequest.of("k1").waitTime(Duration.ZERO));
		assertThat(next).isNotDone();
		this.store.last("acquire 2 at once").granted(200, 30_000);
		assertThat(next).isCompletedWithValueMatching(LockLease::isHeld);
	}

	@Test
	@DisplayName("A request for permits without waiting is sent again after the answer to a release")
	void permits() {
		SemaphoreRequest request = SemaphoreRequest.of("p", 1);
		CompletableFuture<? extends Lease> first = this.semaphores.acquireAsync(request);
		this.store.last("acquire 1 at once").granted(100, 30_000);
		first.join().close();
		CompletableFuture<? extends Lease> next = this.semaphores.acquireAsync(request);
		this.store.last("acquire 2 at once").busy(1000, 100);
		assertThat(next).isNotDone();
		this.store.last("release 1").released(true);
		this.store.last("acquire 2 at once").granted(200, 30_000);
		assertThat(next).isCompletedWithValueMatching(Lease::isHeld);
	}

	@Test
	@DisplayName("A request for a lock is not sent again after the release of a semaphore of the same name")
	void otherKind() {
		CompletableFuture<? extends Lease> permit = this.semaphores.acquireAsync(SemaphoreRequest.of("k2", 1));
		this.store.last("acquire 1 at once").granted(100, 30_000);
		permit.join().close();
		CompletableFuture<LockLease> next = this.service.acquireAsync(LockRequest.of("k2").waitTime(Duration.ZERO));
		this.store.last("acquire 2 at once").busy(1000, 100);
		assertThat(next).isCompletedExceptionally();
	}

	@Test
	@DisplayName("The status waits for the answer to a release")
	void status() {
		lock(1).close();
		List<Boolean> answered = new ArrayList<>();
		this.store.whileReadingTheClock = () -> {
			answered.add(true);
			this.store.last("release 1").released(true);
		};
		this.store.answerAtOnce("inspect", (command) -> {
			assertThat(answered).containsExactly(true);
			command.owned(ID + ":9");
		});
		assertThat(this.service.status("k1").isLocked()).isTrue();
	}

	/** Close a lease with a failed release, and send a request before the repetition. */
	private CompletableFuture<LockLease> requestBehindFailedRelease() {
		lock(1).close();
		this.store.last("release 1").fail(true);
		this.store.elapse(100);
		CompletableFuture<LockLease> next = this.service.acquireAsync(LockRequest.of("k1").waitTime(Duration.ZERO));
		this.store.last("acquire 2 at once").busy(1000, 100);
		assertThat(next).as("the key still belongs to this instance").isNotDone();
		return next;
	}

	@Test
	@DisplayName("A failed release counts as unanswered until its repetition is answered")
	void repeatedRelease() {
		CompletableFuture<LockLease> next = requestBehindFailedRelease();
		Command first = this.store.last("release 1");
		this.store.elapse(150);
		assertThat(this.store.last("release 1")).isNotSameAs(first);
		this.store.last("release 1").released(true);
		this.store.last("acquire 2 at once").granted(200, 30_000);
		assertThat(next).isCompletedWithValueMatching(LockLease::isHeld);
	}

	@Test
	@DisplayName("Without an answer to the repetition, the request reports the store")
	void repeatedReleaseWithoutAnswer() {
		CompletableFuture<LockLease> next = requestBehindFailedRelease();
		this.store.elapse(1000);
		assertFailed(next, LeaseStoreException.class);
	}

	private static final LockRequest ONCE = REQUEST.waitTime(Duration.ZERO);

	/**
	 * Send a request behind a release, with its answer before the answer to the release.
	 */
	private CompletableFuture<LockLease> overtake() {
		granted(REQUEST, 100).releaseAsync();
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2 at once");
		this.store.last("acquire 2 at once").busy(1000, 100);
		assertThat(next).isNotDone();
		assertThat(this.store.sent()).isEmpty();
		return next;
	}

	@Test
	@DisplayName("Only the second busy answer counts, as the first may be older than the release")
	void inOrder() {
		granted(REQUEST, 100).releaseAsync();
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		this.store.last("release 1").released(true);
		this.store.last("acquire 2 at once").busy(1000, 101);
		assertThat(next).isNotDone();
		this.store.last("acquire 2 at once").busy(1000, 101);
		assertThat(next).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2 at once",
				"acquire 2 at once");
	}

	@Test
	@DisplayName("A request after the answer to the release is sent once")
	void afterRelease() {
		granted(REQUEST, 100).releaseAsync();
		this.store.last("release 1").released(true);
		CompletableFuture<LockLease> next = this.service.acquireAsync(ONCE);
		this.store.last("acquire 2 at once").busy(1000, 101);
		assertThat(next).isCompletedExceptionally();
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1", "acquire 2 at once");
	}

	@Test
	@DisplayName("A request that has overtaken the release is sent again after the answer to the release")
	void answered() {
		CompletableFuture<LockLease> next = overtake();
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).containsExactly("acquire 2 at once");
		this.store.last("acquire 2 at once").granted(164, 30_000);
		assertThat(next).isCompletedWithValueMatching(LockLease::isHeld);
	}

	@Test
	@DisplayName("Without an answer to the release in time, the request reports the store, not a busy key")
	void silent() {
		CompletableFuture<LockLease> next = overtake();
		this.store.elapse(3000);
		assertFailed(next, LeaseStoreException.class);
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).doesNotContain("acquire 2 at once");
	}

	@Test
	@DisplayName("A request cancelled before the answer to the release sends nothing")
	void givenUp() {
		CompletableFuture<LockLease> next = overtake();
		next.cancel(true);
		this.store.last("release 1").released(true);
		assertThat(this.store.sent()).doesNotContain("acquire 2 at once");
		assertThat(this.engine.status().waiting()).isZero();
	}

}
