package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.SemaphoreFigures;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Number of permits: from requests or from an operator.
 */
class SemaphoreLimitTests extends FleetTestCase {

	/** For an answer without waiting, on a busy machine. */
	private static final Duration AT_ONCE = Duration.ofSeconds(5);

	private static SemaphoreService first;

	private static SemaphoreService second;

	private static SemaphoreService operator;

	@BeforeAll
	static void start() {
		List<SemaphoreService> contexts = fleet.startSemaphores(3);
		first = contexts.get(0);
		second = contexts.get(1);
		operator = contexts.get(2);
	}

	@AfterEach
	@Override
	void nothingIsLeft() {
		operator.admin().clearLimit(this.key);
		super.nothingIsLeft();
	}

	@Test
	@DisplayName("A raised limit admits at once the waiters that fit, and no more")
	void raised() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 2).waitTime(Fleet.PATIENCE);
		List<PermitLease> leases = new ArrayList<>(List.of(first.acquire(request), second.acquire(request)));
		List<Attempt<PermitLease>> attempts = new ArrayList<>();
		// The last request in another instance, or it would wait in the second instance's
		// own queue.
		for (SemaphoreService semaphores : List.of(first, second, operator)) {
			attempts.add(Attempt.start(semaphores, request));
			fleet.awaitWaitingForPermits(this.key, attempts.size());
		}
		operator.admin().setLimit(this.key, 4);
		leases.add(attempts.get(0).get(Fleet.PROMPT));
		leases.add(attempts.get(1).get(Fleet.PROMPT));
		assertThat(attempts.get(2).isDone()).isFalse();
		assertThat(SemaphoreFigures.of(first.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 4, true, 4, 4, 1));
		leases.get(0).release();
		attempts.get(2).get(Fleet.PROMPT).release();
		leases.forEach(PermitLease::close);
	}

	@Test
	@DisplayName("A raised limit admits as many waiters of the same instance as fit")
	void raisedForOneInstance() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 2).waitTime(Fleet.PATIENCE);
		List<PermitLease> leases = new ArrayList<>(List.of(first.acquire(request), first.acquire(request)));
		List<CompletableFuture<PermitLease>> waiting = Stream.generate(() -> first.acquireAsync(request))
			.limit(4)
			.toList();
		operator.admin().setLimit(this.key, 5);
		for (CompletableFuture<PermitLease> one : waiting.subList(0, 3)) {
			assertThat(one).succeedsWithin(Fleet.PROMPT);
			leases.add(one.join());
		}
		assertThat(first.status(this.key).used()).isEqualTo(5);
		assertThat(waiting.get(3)).isNotDone();
		leases.forEach(PermitLease::close);
		assertThat(waiting.get(3)).succeedsWithin(Fleet.PROMPT).satisfies(PermitLease::close);
	}

	@Test
	@DisplayName("A limit of 0 refuses requests and waiters at once, and holders keep their permits")
	void stopped() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 1).waitTime(Fleet.PATIENCE);
		PermitLease lease = first.acquire(request);
		Attempt<PermitLease> waiting = Attempt.start(second, request);
		fleet.awaitWaitingForPermits(this.key, 1);
		long from = System.nanoTime();
		operator.admin().setLimit(this.key, 0);
		assertThat(waiting.failure()).isInstanceOfSatisfying(PermitNotAcquiredException.class,
				(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.EXCEEDS_LIMIT));
		assertThat(Duration.ofNanos(waiting.endedAt() - from)).isLessThan(Fleet.PROMPT);
		assertRefused(() -> first.tryAcquire(SemaphoreRequest.of(this.key, 1)));
		assertRefused(() -> second.acquire(request));
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(() -> second.acquire(request))
			.withMessageContaining("(limit 0) was not acquired")
			.withMessageContaining("see setLimit and clearLimit");
		assertThat(lease.isHeld()).isTrue();
		lease.release();
		assertRefused(() -> first.acquire(request));
		operator.admin().setLimit(this.key, 1);
		first.acquire(SemaphoreRequest.of(this.key, 1)).release();
	}

	@Test
	@DisplayName("A lowered limit refuses waiters for more permits at once, and the waiters behind are served")
	void loweredUnderWaiters() {
		PermitLease lease = first.acquire(SemaphoreRequest.of(this.key, 4).permits(2));
		Attempt<PermitLease> big = Attempt.start(first,
				SemaphoreRequest.of(this.key, 4).permits(4).waitTime(Fleet.PATIENCE));
		fleet.awaitWaitingForPermits(this.key, 1);
		Attempt<PermitLease> small = Attempt.start(second, SemaphoreRequest.of(this.key, 4).waitTime(Fleet.PATIENCE));
		fleet.awaitWaitingForPermits(this.key, 2);
		operator.admin().setLimit(this.key, 3);
		small.get(Fleet.PROMPT).release();
		assertThat(big.failure()).isInstanceOfSatisfying(PermitNotAcquiredException.class,
				(ex) -> assertThat(ex).hasMessageContaining("4 permits").hasMessageContaining("limit 3"));
		lease.release();
	}

	private static void assertRefused(ThrowingCallable call) {
		long from = System.nanoTime();
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(call)
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.EXCEEDS_LIMIT));
		assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(AT_ONCE);
	}

	@Test
	@DisplayName("A request without a limit is refused at once, with the cure, unless an operator has set a limit")
	void leftToTheOperator() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key).waitForever();
		for (ThrowingCallable way : List.<ThrowingCallable>of(() -> first.acquire(request),
				() -> first.tryAcquire(SemaphoreRequest.of(this.key)), () -> second.acquire(request))) {
			assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(way)
				.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.EXCEEDS_LIMIT))
				.withMessageContaining(
						"the request has no limit of its own, and no operator has set one above 0 (set one by"
								+ " SemaphoreService.admin().setLimit, or name one by SemaphoreRequest.of(key, limit)");
		}
		operator.admin().setLimit(this.key, 2);
		List<PermitLease> leases = new ArrayList<>(List.of(first.acquire(request)));
		leases.add(second.tryAcquire(SemaphoreRequest.of(this.key)).orElseThrow());
		assertThat(first.tryAcquire(request.waitTime(Duration.ZERO))).isEmpty();
		assertThatExceptionOfType(PermitNotAcquiredException.class)
			.isThrownBy(() -> first.acquire(request.waitTime(Duration.ofSeconds(1))))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT))
			.withMessageContaining("(limit 2)")
			.withMessageContaining("not enough of them were free (2 of 2 in use)");
		Attempt<PermitLease> attempt = Attempt.start(second, request);
		fleet.awaitWaitingForPermits(this.key, 1);
		operator.admin().setLimit(this.key, 3);
		leases.add(attempt.get(Fleet.PROMPT));
		assertThat(second.status(this.key).free()).isZero();
		leases.forEach((lease) -> assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED));
	}

	@Test
	@DisplayName("When the operator's limit is cleared, all requests that depend on the limit are refused, also"
			+ " several of an instance")
	void clearedWhileOthersWait() {
		operator.admin().setLimit(this.key, 1);
		SemaphoreRequest request = SemaphoreRequest.of(this.key).waitForever();
		PermitLease lease = first.acquire(request);
		List<CompletableFuture<PermitLease>> waiting = new ArrayList<>();
		for (SemaphoreService semaphores : List.of(first, second)) {
			// More than the queue in Redis takes.
			waiting.addAll(Stream.generate(() -> semaphores.acquireAsync(request)).limit(250).toList());
		}
		fleet.awaitWaitingForPermits(this.key, 400);
		operator.admin().clearLimit(this.key);
		for (CompletableFuture<PermitLease> one : waiting) {
			assertThat(one).failsWithin(Fleet.PATIENCE)
				.withThrowableThat()
				.withCauseInstanceOf(PermitNotAcquiredException.class)
				.withMessageContaining("no operator has set one above 0");
		}
		assertThat(lease.isHeld()).isTrue();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
	}

}
