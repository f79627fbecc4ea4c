package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Order;
import io.holdfast.testing.SemaphoreFigures;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * How many permits there are: as requests say, or as an operator does.
 */
class SemaphoreLimitTests extends FleetTestCase {

	/** For an answer without waiting, on however busy a machine. */
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
	@DisplayName("A raised limit lets those in at once that fit into it, and no others")
	void raised() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 2).waitTime(Fleet.PATIENCE);
		List<PermitLease> leases = new ArrayList<>(List.of(first.acquire(request), second.acquire(request)));
		List<Attempt<PermitLease>> attempts = new ArrayList<>();
		// The last in another instance, or it would wait in the queue there.
		for (SemaphoreService semaphores : List.of(first, second, operator)) {
			attempts.add(Attempt.start(semaphores, request));
			fleet.awaitWaitingForPermits(this.key, attempts.size());
		}
		operator.admin().setLimit(this.key, 4);
		leases.add(attempts.get(0).lease(Fleet.PROMPT));
		leases.add(attempts.get(1).lease(Fleet.PROMPT));
		assertThat(attempts.get(2).isDone()).isFalse();
		assertThat(SemaphoreFigures.of(first.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 4, true, 4, 4, 1));
		leases.get(0).release();
		attempts.get(2).lease(Fleet.PROMPT).release();
		leases.forEach(PermitLease::close);
	}

	@Test
	@DisplayName("A raised limit lets in as many of one instance as fit, who wait there one behind the other")
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
	@DisplayName("A lowered limit takes nothing away, is never below zero free, and lets none in until enough is back")
	void lowered() {
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 5);
		List<PermitLease> leases = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			leases.add(first.acquire(request));
		}
		operator.admin().setLimit(this.key, 2);
		assertThat(leases).allMatch(PermitLease::isHeld);
		assertThat(SemaphoreFigures.of(second.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 2, true, 5, 5, 0));
		assertThat(second.status(this.key).free()).isZero();
		Attempt<PermitLease> attempt = Attempt.start(second, request.waitTime(Fleet.PATIENCE));
		fleet.awaitWaitingForPermits(this.key, 1);
		for (int i = 0; i < 3; i++) {
			leases.get(i).release();
			assertThat(second.tryAcquire(request.fair(false))).isEmpty();
			assertThat(attempt.isDone()).as("granted with %d of 2 used", 4 - i).isFalse();
		}
		leases.get(3).release();
		PermitLease next = attempt.lease(Fleet.PROMPT);
		assertThat(SemaphoreFigures.of(second.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 2, true, 2, 2, 0));
		leases.get(4).release();
		next.release();
	}

	@Test
	@DisplayName("A limit that was set outlives idleness, and is cleared: then that of the requests counts again")
	void cleared() {
		assertThat(operator.admin().clearLimit(this.key)).isFalse();
		operator.admin().setLimit(this.key, 1);
		SemaphoreRequest request = SemaphoreRequest.of(this.key, 3);
		first.acquire(request).release();
		assertThat(SemaphoreFigures.of(first.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 1, true, 0, 0, 0));
		assertThat(fleet.keys()).containsExactly(fleet.semaphoreKey(this.key, "limit"));
		assertThat(fleet.template().getExpire(fleet.semaphoreKey(this.key, "limit"))).as("no expiry").isEqualTo(-1);
		PermitLease lease = first.acquire(request);
		assertThat(second.tryAcquire(request)).isEmpty();
		List<Attempt<PermitLease>> attempts = List.of(Attempt.start(second, request.waitTime(Fleet.PATIENCE)),
				Attempt.start(first, request.waitTime(Fleet.PATIENCE)));
		fleet.awaitWaitingForPermits(this.key, 2);
		assertThat(operator.admin().clearLimit(this.key)).isTrue();
		attempts.forEach((attempt) -> attempt.lease(Fleet.PROMPT).release());
		assertThat(SemaphoreFigures.of(first.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 3, false, 1, 1, 0));
		lease.release();
		assertThat(operator.admin().clearLimit(this.key)).isFalse();
	}

	@Test
	@DisplayName("A limit of 0 stops all: who asks or waits is told so at once, who holds keeps its permits")
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
	@DisplayName("A request above the limit is refused at once, whichever limit counts; an operator may also allow more")
	void exceeded() {
		SemaphoreRequest six = SemaphoreRequest.of(this.key, 5).permits(6).waitTime(Fleet.PATIENCE);
		assertRefused(() -> first.acquire(six));
		assertRefused(() -> first.tryAcquire(six.waitTime(Duration.ZERO)));
		operator.admin().setLimit(this.key, 6);
		PermitLease lease = first.acquire(six);
		assertThat(second.status(this.key).used()).isEqualTo(6);
		assertRefused(() -> second.acquire(six.permits(7)));
		operator.admin().setLimit(this.key, 3);
		assertRefused(() -> second.acquire(six.permits(4)));
		Attempt<PermitLease> fits = Attempt.start(second, six.permits(3));
		fleet.awaitWaitingForPermits(this.key, 1);
		lease.release();
		fits.lease(Fleet.PROMPT).release();
	}

	@Test
	@DisplayName("A lowered limit tells who waits for more than it at once, and those behind are served")
	void loweredUnderWaiters() {
		PermitLease lease = first.acquire(SemaphoreRequest.of(this.key, 4).permits(2));
		Attempt<PermitLease> big = Attempt.start(first,
				SemaphoreRequest.of(this.key, 4).permits(4).waitTime(Fleet.PATIENCE));
		fleet.awaitWaitingForPermits(this.key, 1);
		Attempt<PermitLease> small = Attempt.start(second, SemaphoreRequest.of(this.key, 4).waitTime(Fleet.PATIENCE));
		fleet.awaitWaitingForPermits(this.key, 2);
		operator.admin().setLimit(this.key, 3);
		small.lease(Fleet.PROMPT).release();
		assertThat(big.failure()).isInstanceOfSatisfying(PermitNotAcquiredException.class,
				(ex) -> assertThat(ex).hasMessageContaining("4 permits").hasMessageContaining("limit 3"));
		lease.release();
	}

	@Test
	@DisplayName("While a new version with another limit is rolled out, each request is judged by its own")
	void rollingDeployment() {
		// What is passed on within an instance is not judged again.
		List<SemaphoreService> strictOnes = fleet.startSemaphores(2, Order.STRICT.properties());
		SemaphoreService first = strictOnes.get(0);
		SemaphoreService second = strictOnes.get(1);
		SemaphoreRequest older = SemaphoreRequest.of(this.key, 3).waitTime(Fleet.PATIENCE);
		SemaphoreRequest newer = SemaphoreRequest.of(this.key, 5).waitTime(Fleet.PATIENCE);
		List<PermitLease> leases = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			leases.add(first.acquire(older));
		}
		assertThat(first.tryAcquire(SemaphoreRequest.of(this.key, 3))).isEmpty();
		leases.add(second.acquire(newer));
		leases.add(second.acquire(newer));
		assertThat(second.tryAcquire(SemaphoreRequest.of(this.key, 5))).isEmpty();
		assertThat(SemaphoreFigures.of(second.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, 5, false, 5, 5, 0));
		assertThat(first.tryAcquire(SemaphoreRequest.of(this.key, 3))).isEmpty();
		assertThat(first.status(this.key).free()).as("more used than the older limit").isZero();
		assertRefused(() -> first.acquire(older.permits(4)));

		Attempt<PermitLease> waiting = Attempt.start(first, older);
		fleet.awaitWaitingForPermits(this.key, 1);
		Attempt<PermitLease> behind = Attempt.start(second, newer);
		fleet.awaitWaitingForPermits(this.key, 2);
		leases.get(0).release();
		leases.get(1).release();
		assertThat(List.of(waiting, behind)).as("served with 3 of 3 used, or before its turn")
			.noneMatch(Attempt::isDone);
		leases.get(2).release();
		waiting.lease(Fleet.PROMPT).release();
		behind.lease(Fleet.PROMPT).release();
		leases.forEach(PermitLease::close);
	}

	@Test
	@DisplayName("A limit of 100,000 and requests for 5,000 permits: all are had, one more is not, and all come back")
	void large() {
		int limit = 100_000;
		SemaphoreRequest request = SemaphoreRequest.of(this.key, limit).permits(5000).waitTime(Fleet.PATIENCE);
		List<PermitLease> leases = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			leases.add(List.of(first, second, operator).get(i % 3).acquire(request));
		}
		assertThat(SemaphoreFigures.of(first.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, limit, false, limit, 20, 0));
		assertThat(second.tryAcquire(SemaphoreRequest.of(this.key, limit))).isEmpty();
		Attempt<PermitLease> all = Attempt.start(second, request.permits(limit));
		fleet.awaitWaitingForPermits(this.key, 1);
		Attempt<PermitLease> one = Attempt.start(first, request.permits(1));
		fleet.awaitWaitingForPermits(this.key, 2);
		leases.forEach(PermitLease::close);
		PermitLease whole = all.lease(Fleet.PROMPT);
		assertThat(one.isDone()).isFalse();
		assertThat(SemaphoreFigures.of(first.status(this.key)))
			.isEqualTo(new SemaphoreFigures(this.key, limit, false, limit, 1, 1));
		whole.release();
		one.lease(Fleet.PROMPT).release();
		assertRefused(() -> first.acquire(request.permits(limit + 1)));
	}

	private static void assertRefused(ThrowingCallable call) {
		long from = System.nanoTime();
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(call)
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.EXCEEDS_LIMIT));
		assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(AT_ONCE);
	}

	@Test
	@DisplayName("A request may leave the limit to the operator: without one it is refused at once, with the cure")
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
			.isThrownBy(() -> first.acquire(request.waitTime(Duration.ofMillis(50))))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT))
			.withMessageContaining("(limit 2)")
			.withMessageEndingWith("not enough of them were free (2 of 2 in use)");
		Attempt<PermitLease> attempt = Attempt.start(second, request);
		fleet.awaitWaitingForPermits(this.key, 1);
		operator.admin().setLimit(this.key, 3);
		leases.add(attempt.lease(Fleet.PROMPT));
		assertThat(second.status(this.key).free()).isZero();
		leases.forEach((lease) -> assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED));
	}

	@Test
	@DisplayName("Requests that wait for the operator's limit are all refused when it is cleared, those of one instance too")
	void clearedWhileOthersWait() {
		operator.admin().setLimit(this.key, 1);
		SemaphoreRequest request = SemaphoreRequest.of(this.key).waitForever();
		PermitLease lease = first.acquire(request);
		List<CompletableFuture<PermitLease>> waiting = new ArrayList<>();
		for (SemaphoreService semaphores : List.of(first, second)) {
			// More than stand in the queue in Redis.
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

	@Test
	@DisplayName("Many threads of two instances share the operator's limit, with local hand-over")
	void sharedByMany() throws Exception {
		operator.admin().setLimit(this.key, 3);
		SemaphoreRequest request = SemaphoreRequest.of(this.key).waitForever();
		AtomicInteger inside = new AtomicInteger();
		AtomicInteger most = new AtomicInteger();
		AtomicInteger done = new AtomicInteger();
		Crowd crowd = new Crowd();
		for (SemaphoreService semaphores : List.of(first, second)) {
			crowd.add(8, () -> {
				for (int i = 0; i < 50; i++) {
					try (PermitLease lease = semaphores.acquire(request)) {
						most.accumulateAndGet(inside.incrementAndGet(), Math::max);
						done.addAndGet(lease.permits());
						inside.decrementAndGet();
					}
				}
			});
		}
		crowd.run();
		assertThat(done).hasValue(2 * 8 * 50);
		assertThat(most.get()).isLessThanOrEqualTo(3);
	}

}
