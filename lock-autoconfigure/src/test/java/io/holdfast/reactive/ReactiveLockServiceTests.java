package io.holdfast.reactive;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.mockito.ArgumentMatchers;
import org.mockito.Mockito;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;

/**
 * Steps of a chain with a lock, on a service that answers on command.
 */
@ExtendWith(OutputCaptureExtension.class)
class ReactiveLockServiceTests {

	private static final LockRequest REQUEST = LockRequest.of("scripted");

	private final LockService service = Mockito.mock();

	private final ReactiveLockService locks = new ReactiveLockService(this.service);

	private final List<LockRequest> requests = new ArrayList<>();

	/** Result of the next request. */
	private CompletableFuture<LockLease> grant = new CompletableFuture<>();

	private ScriptedLease lease = new ScriptedLease();

	@BeforeEach
	void script() {
		given(this.service.acquireAsync(ArgumentMatchers.any())).willAnswer((call) -> {
			this.requests.add(call.getArgument(0));
			return this.grant;
		});
	}

	private void grant() {
		this.grant.complete(this.lease);
	}

	@Test
	@DisplayName("A subscription requests the lock, the chain runs after the grant, and its value comes after the release")
	void mono() {
		List<String> events = new ArrayList<>();
		Mono<String> chain = this.locks.withLock(REQUEST,
				Mono.fromSupplier(() -> events.add("chain") ? "value" : "none"));
		assertThat(this.requests).isEmpty();
		chain.subscribe(events::add, (error) -> events.add("error"), () -> events.add("complete"));
		assertThat(this.requests).containsExactly(REQUEST);
		assertThat(events).isEmpty();
		grant();
		assertThat(events).containsExactly("chain");
		assertThat(this.lease.releases).hasValue(1);
		this.lease.answer.complete(ReleaseResult.RELEASED);
		assertThat(events).containsExactly("chain", "value", "complete");
	}

	@Test
	@DisplayName("An error comes after the release, unchanged")
	void error() {
		Sinks.Empty<String> work = Sinks.empty();
		StepVerifier.create(this.locks.withLock("scripted", work.asMono()))
			.then(this::grant)
			.then(() -> work.tryEmitError(new IllegalStateException("failed")))
			.then(() -> assertThat(this.lease.releases).hasValue(1))
			.expectNoEvent(Duration.ofMillis(10))
			.then(() -> this.lease.answer.complete(ReleaseResult.RELEASED))
			.expectErrorSatisfies((ex) -> assertThat(ex).isExactlyInstanceOf(IllegalStateException.class)
				.hasMessage("failed")
				.hasNoSuppressedExceptions())
			.verify();
	}

	static Stream<Flux<String>> failingSubscriptions() {
		Publisher<String> throwing = (subscriber) -> {
			throw new IllegalStateException("no chain");
		};
		return Stream.of(Flux.defer(() -> {
			throw new IllegalStateException("no chain");
		}), Flux.from(throwing), Flux.from(throwing).map(String::trim), Flux.just("a").thenMany(throwing));
	}

	@ParameterizedTest
	@MethodSource("failingSubscriptions")
	@DisplayName("A chain whose subscription throws fails, and the lock is released")
	void failingSubscription(Flux<String> chain) {
		this.lease = ScriptedLease.obliging();
		grant();
		StepVerifier.create(this.locks.withLock(REQUEST, chain))
			.expectErrorMessage("no chain")
			.verify(Duration.ofSeconds(10));
		assertThat(this.lease.releases).hasValue(1);
	}

	@Test
	@DisplayName("Values come at once and on demand, and the end after the release")
	void flux() {
		TestPublisher<Integer> work = TestPublisher.create();
		List<Long> demand = new ArrayList<>();
		StepVerifier.create(this.locks.withLock("scripted", work.flux().doOnRequest(demand::add)), 0)
			.then(this::grant)
			.then(() -> work.assertSubscribers(1))
			.then(() -> assertThat(demand).isEmpty())
			.thenRequest(2)
			.then(() -> assertThat(demand).containsExactly(2L))
			.then(() -> work.next(1, 2))
			.expectNext(1, 2)
			.then(() -> assertThat(this.lease.releases).hasValue(0))
			.then(work::complete)
			.expectNoEvent(Duration.ofMillis(10))
			.then(() -> this.lease.answer.complete(ReleaseResult.RELEASED))
			.verifyComplete();
		work.assertNoRequestOverflow();
		assertThat(this.lease.releases).hasValue(1);
	}

	@Test
	@DisplayName("Demand during the wait for the lock is kept")
	void earlyDemand() {
		TestPublisher<Integer> work = TestPublisher.create();
		StepVerifier.create(this.locks.withLock(REQUEST, work.flux()), 3)
			.then(this::grant)
			.then(() -> work.assertMinRequested(3).next(1, 2, 3))
			.expectNext(1, 2, 3)
			.thenCancel()
			.verify();
		work.assertCancelled();
		assertThat(this.lease.releases).hasValue(1);
	}

	@Test
	@DisplayName("The chain runs on another thread than the subscriber, also after an immediate grant")
	void neverOnTheSubscribersThread() {
		this.lease = ScriptedLease.obliging();
		grant();
		Thread test = Thread.currentThread();
		Mono<Thread> chain = this.locks.withLock(REQUEST, Mono.fromSupplier(Thread::currentThread));
		StepVerifier.create(chain)
			.assertNext((thread) -> assertThat(thread).isNotSameAs(test).matches(Thread::isDaemon))
			.expectComplete()
			.verify(Duration.ofSeconds(10));
	}

	@Test
	@DisplayName("Each subscription acquires and releases anew")
	void anewForEachSubscription() {
		Mono<Long> chain = this.locks.withLock(REQUEST,
				ReactiveLeaseContext.current().map((context) -> context.lock().fencingToken()));
		for (int i = 1; i <= 2; i++) {
			this.lease = ScriptedLease.obliging();
			this.grant = CompletableFuture.completedFuture(this.lease);
			StepVerifier.create(chain).expectNext(7L).verifyComplete();
			assertThat(this.requests).hasSize(i);
			assertThat(this.lease.releases).hasValue(1);
		}
	}

	@Test
	@DisplayName("Cancellation during the wait ends the wait; the chain never runs")
	void cancelledWait() {
		TestPublisher<String> work = TestPublisher.create();
		Disposable waiting = this.locks.withLock(REQUEST, work.mono()).subscribe();
		waiting.dispose();
		assertThat(this.grant).isCancelled();
		work.assertWasNotSubscribed();
	}

	@Test
	@DisplayName("Cancellation before any demand requests nothing")
	void cancelledBeforeDemand() {
		StepVerifier.create(this.locks.acquire(REQUEST), 0).thenCancel().verify();
		assertThat(this.requests).isEmpty();
	}

	@Test
	@DisplayName("A lease that comes in spite of the cancellation is released")
	void grantedInSpiteOfCancellation() {
		// A future completed just before, whose subscriber has not seen it yet.
		CompletableFuture<LockLease> late = new CompletableFuture<>() {

			@Override
			public boolean cancel(boolean mayInterruptIfRunning) {
				return !complete(ReactiveLockServiceTests.this.lease);
			}

		};
		this.grant = late;
		this.locks.withLock(REQUEST, Mono.never()).subscribe().dispose();
		assertThat(this.lease.releases).hasValue(1);
		this.lease = new ScriptedLease();
		this.grant = new CompletableFuture<>() {

			@Override
			public boolean cancel(boolean mayInterruptIfRunning) {
				return !complete(ReactiveLockServiceTests.this.lease);
			}

		};
		this.locks.acquire("scripted").subscribe().dispose();
		assertThat(this.lease.releases).hasValue(1);
	}

	@Test
	@DisplayName("Cancellation of a running chain cancels the chain and releases the lock, once")
	void cancelledChain() {
		TestPublisher<String> work = TestPublisher.create();
		Disposable running = this.locks.withLock(REQUEST, work.mono()).subscribe();
		grant();
		work.assertSubscribers(1);
		running.dispose();
		running.dispose();
		work.assertCancelled();
		assertThat(this.lease.releases).hasValue(1);
	}

	@Test
	@DisplayName("Cancellation during the release neither repeats nor abandons the release")
	void cancelledRelease() {
		Disposable ending = this.locks.withLock(REQUEST, Mono.just("value")).subscribe();
		grant();
		assertThat(this.lease.releases).hasValue(1);
		ending.dispose();
		assertThat(this.lease.releases).hasValue(1);
		assertThat(this.lease.answer).isNotDone();
	}

	@Test
	@DisplayName("A refusal or failure is the subscriber's error, and the chain does not run")
	void notAcquired() {
		TestPublisher<String> work = TestPublisher.create();
		LockNotAcquiredException timeOut = timeOut(Reason.TIMED_OUT);
		StepVerifier.create(this.locks.withLock(REQUEST, work.mono()))
			.then(() -> this.grant.completeExceptionally(timeOut))
			.expectErrorSatisfies((ex) -> assertThat(ex).isSameAs(timeOut))
			.verify();
		work.assertWasNotSubscribed();
		this.grant = this.grant.thenApply((granted) -> granted);
		StepVerifier.create(this.locks.acquire(REQUEST)).expectErrorMatches(timeOut::equals).verify();
	}

	@Test
	@DisplayName("A service that throws instead of returning a future is the subscriber's error, too")
	void throwingService() {
		given(this.service.acquireAsync(ArgumentMatchers.any())).willThrow(new IllegalStateException("closed"));
		StepVerifier.create(this.locks.acquire(REQUEST)).verifyErrorMessage("closed");
	}

	@Test
	@DisplayName("tryAcquire is empty after a timeout; other failures are errors")
	void tryAcquire() {
		this.grant.completeExceptionally(timeOut(Reason.TIMED_OUT));
		StepVerifier.create(this.locks.tryAcquire("scripted")).verifyComplete();
		assertThat(this.requests).containsExactly(REQUEST.waitTime(Duration.ZERO));
		this.grant = CompletableFuture.failedFuture(timeOut(Reason.SHUTDOWN));
		StepVerifier.create(this.locks.tryAcquire(REQUEST)).verifyError(LockNotAcquiredException.class);
		this.grant = CompletableFuture.failedFuture(new LeaseStoreException("scripted", "no answer", null));
		StepVerifier.create(this.locks.tryAcquire(REQUEST)).verifyError(LeaseStoreException.class);
		this.grant = CompletableFuture.completedFuture(this.lease);
		StepVerifier.create(this.locks.tryAcquire(REQUEST)).expectNext(this.lease).verifyComplete();
		assertThat(this.lease.releases).hasValue(0);
	}

	private static LockNotAcquiredException timeOut(Reason reason) {
		return new LockNotAcquiredException("scripted", reason, Duration.ofSeconds(1), null);
	}

	@Test
	@DisplayName("A loss cancels the chain, and the subscriber gets the error")
	void loss() {
		TestPublisher<String> work = TestPublisher.create();
		StepVerifier.create(this.locks.withLock(REQUEST, work.mono()))
			.then(this::grant)
			.then(this.lease::lose)
			.expectErrorSatisfies((ex) -> assertThat(ex).isInstanceOf(LeaseLostException.class)
				.hasMessageContaining("'scripted' was lost"))
			.verify();
		work.assertCancelled();
		assertThat(this.lease.releases).hasValue(1);
	}

	@Test
	@DisplayName("A loss that only the release finds is an error, too")
	void lossAtTheEnd() {
		grant();
		this.lease.answer.complete(ReleaseResult.LOST);
		StepVerifier.create(this.locks.withLock(REQUEST, Mono.just("value"))).verifyError(LeaseLostException.class);
		StepVerifier.create(this.locks.withLock(REQUEST, Flux.just(1, 2)))
			.expectNext(1, 2)
			.verifyError(LeaseLostException.class);
	}

	@Test
	@DisplayName("A loss does not hide the chain's own error")
	void lossAndError() {
		grant();
		this.lease.answer.complete(ReleaseResult.LOST);
		StepVerifier.create(this.locks.withLock(REQUEST, Mono.error(new IllegalStateException("failed"))))
			.expectErrorSatisfies((ex) -> {
				assertThat(ex).isInstanceOf(IllegalStateException.class).hasMessage("failed");
				assertThat(ex.getSuppressed()).hasAtLeastOneElementOfType(LeaseLostException.class);
			})
			.verify();
	}

	@Test
	@DisplayName("A failed release hides neither a value nor an error")
	void failingRelease(CapturedOutput output) {
		grant();
		this.lease.answer.completeExceptionally(new LeaseStoreException("scripted", "no answer", null));
		StepVerifier.create(this.locks.withLock(REQUEST, Mono.just("value"))).expectNext("value").verifyComplete();
		StepVerifier.create(this.locks.withLock(REQUEST, Mono.error(new IllegalStateException("failed"))))
			.verifyErrorMessage("failed");
		assertThat(output).contains("A lease of 'scripted' was not released at once", "no answer");
	}

	@Test
	@DisplayName("A nested chain acquires within the outer chain's context, also on another thread")
	void nested() {
		grant();
		this.lease.answer.complete(ReleaseResult.RELEASED);
		Mono<LeaseContext> inner = this.locks.withLock(REQUEST, ReactiveLeaseContext.current());
		StepVerifier.create(this.locks.withLock(REQUEST, Mono.delay(Duration.ofMillis(1)).then(inner)))
			.assertNext((context) -> assertThat(context.leases()).containsExactly(this.lease, this.lease))
			.verifyComplete();
		assertThat(this.requests.get(0)).isEqualTo(REQUEST);
		assertThat(this.requests.get(1).context()).isNotNull()
			.satisfies((context) -> assertThat(context.leases()).containsExactly(this.lease));
	}

	@Test
	@DisplayName("A chain acquires within the leases of the subscribing thread; an explicit context takes precedence")
	void contextOfThread() {
		grant();
		this.lease.answer.complete(ReleaseResult.RELEASED);
		LeaseContext context = LeaseContext.empty().with(new ScriptedLease());
		Mono<LeaseContext> chain = this.locks.withLock(REQUEST, ReactiveLeaseContext.current());
		LeaseContext.Scope scope = context.open();
		try {
			StepVerifier.create(chain).assertNext((inside) -> assertThat(inside.leases()).hasSize(2)).verifyComplete();
			this.locks.acquire(REQUEST.within(LeaseContext.empty())).block();
		}
		finally {
			scope.close();
		}
		assertThat(this.requests.get(0).context()).isSameAs(context);
		assertThat(this.requests.get(1).context()).isSameAs(LeaseContext.empty());
	}

	@Test
	@DisplayName("A lease acquired by hand can be added to the context of a chain; without leases, the context is empty")
	void contextByHand() {
		StepVerifier.create(ReactiveLeaseContext.current().contextWrite(ReactiveLeaseContext.with(this.lease)))
			.assertNext((context) -> assertThat(context.lease()).isSameAs(this.lease))
			.verifyComplete();
		StepVerifier.create(ReactiveLeaseContext.current())
			.assertNext((context) -> assertThat(context.leases()).isEmpty())
			.verifyComplete();
	}

	@Test
	@DisplayName("A future that the service itself cancels is an error")
	void cancelledByService() {
		this.grant.cancel(true);
		StepVerifier.create(this.locks.acquire(REQUEST)).verifyError(CancellationException.class);
	}

}
