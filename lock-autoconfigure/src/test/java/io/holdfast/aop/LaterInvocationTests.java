package io.holdfast.aop;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLeaseContext;
import io.reactivex.rxjava3.core.BackpressureStrategy;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.core.Single;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.mockito.AdditionalAnswers;
import org.mockito.BDDMockito;
import org.mockito.Mockito;
import org.reactivestreams.FlowAdapters;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.scheduling.annotation.Async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.throwable;
import static org.awaitility.Awaitility.await;

/**
 * Annotated methods that return a stage or a reactive type.
 */
class LaterInvocationTests extends LockedTestCase {

	private final Shop shop = start(Shop.class, AdviceOrderTests.Asynchronous.class, Work.class, AsyncShop.class,
			Types.class);

	private final Work work = bean(Work.class);

	/** Results, with the subscription of a chain. */
	private enum Kind {

		STAGE, MONO;

		CompletableFuture<String> sell(Shop shop, @Nullable String sku) {
			return (this == MONO) ? shop.sellMono(sku).toFuture() : shop.sell(sku);
		}

		CompletableFuture<String> fail(Shop shop) throws IOException {
			return (this == MONO) ? shop.failMono().toFuture() : shop.fail();
		}

		CompletableFuture<String> nothing(Shop shop) {
			return (this == MONO) ? shop.nothingMono().toFuture() : shop.nothing();
		}

	}

	private void awaitRequest() {
		await().atMost(SOON).until(() -> !this.locks.asyncRequests().isEmpty());
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Permit and lock are kept until the end of the result, which reaches the caller after their release")
	void keptUntilCompletion(Kind kind) {
		CompletableFuture<String> result = kind.sell(this.shop, "a");
		awaitEvents("permit", "lock", "body");
		assertThat(result).isNotDone();
		result.whenComplete((value, failure) -> this.locks.record("result"));
		this.work.future.complete("sold");
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		awaitEvents("permit", "lock", "body", "unlock", "return", "result");
		assertThat(this.locks.keys()).containsExactly("stock:a");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The caller never waits; the method runs on another thread, also after an immediate grant")
	void neverOnTheCallersThread(Kind kind) {
		this.locks.waiting();
		assertThat(kind.sell(this.shop, "a")).isNotDone();
		awaitRequest();
		this.locks.immediate();
		this.semaphores.immediate();
		this.locks.waiting().complete(null);
		CompletableFuture<String> result = kind.sell(this.shop, "b");
		this.work.future.complete("sold");
		assertThat(result).succeedsWithin(SOON);
		assertThat(this.work.thread).isNotNull().isNotSameAs(Thread.currentThread());
		assertThat(this.work.thread.isDaemon()).isTrue();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A failed result, an exception and a null result release all leases before the caller gets the failure")
	void failures(Kind kind) throws IOException {
		this.work.future.completeExceptionally(new IOException("failed later"));
		assertThat(failure(kind.sell(this.shop, "a"))).isExactlyInstanceOf(IOException.class)
			.hasMessage("failed later");
		assertThat(failure(kind.fail(this.shop))).isExactlyInstanceOf(IOException.class).hasMessage("from the method");
		assertThat(failure(kind.nothing(this.shop))).isInstanceOf(IllegalStateException.class)
			.message()
			.containsPattern("Shop\\.nothing(Mono)?\\(\\) returned null");
		assertEvents("permit", "lock", "body", "unlock", "return", "lock", "unlock", "lock", "unlock");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A call without a key fails through its result and acquires nothing")
	void noKey(Kind kind) {
		CompletableFuture<String> result = kind.sell(this.shop, null);
		assertThat(result).isCompletedExceptionally();
		assertThat(failure(result)).isInstanceOf(IllegalArgumentException.class);
		assertThat(this.locks.requests()).isEmpty();
		assertEvents();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Without the lock the method does not run, the permit is returned, and the result fails")
	void notAcquired(Kind kind) {
		this.locks.busy();
		assertThat(failure(kind.sell(this.shop, "a"))).isInstanceOf(LockNotAcquiredException.class);
		assertEvents("permit", "return");
		this.semaphores.busy();
		assertThat(failure(kind.sell(this.shop, "a"))).isInstanceOf(PermitNotAcquiredException.class);
		assertEvents("permit", "return");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Cancellation during the wait for the lock ends the wait, returns the permit, and the method never runs")
	void cancelledWait(Kind kind) {
		this.locks.waiting();
		CompletableFuture<String> result = kind.sell(this.shop, "a");
		awaitRequest();
		result.cancel(true);
		assertThat(this.locks.asyncRequests().get(0)).isCancelled();
		awaitEvents("permit", "return");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Cancellation during the wait for the permit requests no lock")
	void cancelledFirstWait(Kind kind) {
		CompletableFuture<?> turn = this.semaphores.waiting();
		kind.sell(this.shop, "a").cancel(true);
		assertThat(this.semaphores.asyncRequests().get(0)).isCancelled();
		turn.complete(null);
		assertEvents();
		assertThat(this.locks.asyncRequests()).isEmpty();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Cancellation between the grant and the method releases the leases, and the method never runs")
	void cancelledAfterGrant(Kind kind) {
		List<Runnable> calls = new ArrayList<>();
		this.semaphores.immediate(calls::add);
		this.locks.immediate();
		CompletableFuture<String> result = kind.sell(this.shop, "a");
		assertEvents("permit", "lock");
		result.cancel(true);
		calls.forEach(Runnable::run);
		awaitEvents("permit", "lock", "unlock", "return");
	}

	@Test
	@DisplayName("The method of a stage runs under its leases, which end with it on that thread")
	void leaseContextOfStage() {
		this.work.future.complete("sold");
		RecordingLease outer = new RecordingLease("outer");
		LeaseContext.Scope scope = LeaseContext.empty().with(outer).open();
		try {
			assertThat(this.shop.sell("a")).succeedsWithin(SOON);
		}
		finally {
			scope.close();
		}
		assertThat(this.work.context.leases()).hasSize(3);
		assertThat(this.work.context.leases().get(0)).isInstanceOf(LockLease.class);
		assertThat(this.work.context.leases().get(1)).isInstanceOf(PermitLease.class);
		assertThat(this.work.context.leases().get(2)).isSameAs(outer);
		assertThat(this.locks.lastRequest().context()).isNotNull()
			.satisfies((context) -> assertThat(context.leases()).isEqualTo(this.work.context.leases().subList(1, 3)));
		CompletableFuture<LeaseContext> after = new CompletableFuture<>();
		this.shop.sell("a").whenComplete((value, failure) -> after.complete(LeaseContext.current()));
		assertThat(after).succeedsWithin(SOON).isSameAs(LeaseContext.empty());
	}

	@Test
	@DisplayName("A stage without toCompletableFuture() keeps its lock until it completes, too")
	void noFuture() {
		// The first mock takes long on a busy machine: too long for the time limits
		// below.
		Mockito.mock(CompletionStage.class);
		CompletableFuture<String> result = this.shop.strange().toCompletableFuture();
		awaitEvents("lock", "body");
		this.work.future.complete("sold");
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		awaitEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("Cancellation by the caller while the method still runs does not cancel the method's future")
	void cancelledBody() {
		CompletableFuture<Void> leave = new CompletableFuture<>();
		CompletableFuture<String> result = this.shop.slow(leave);
		awaitEvents("lock", "body");
		result.cancel(true);
		assertEvents("lock", "body");
		leave.complete(null);
		assertThat(this.work.future.complete("late")).isTrue();
		awaitEvents("lock", "body", "unlock");
		assertThat(result).isCancelled();
	}

	@Test
	@DisplayName("A method's future that other code cancels counts as a failure")
	void cancelledInside() {
		this.work.future.cancel(true);
		assertThat(this.shop.sell("a").handle((value, failure) -> failure))
			.succeedsWithin(SOON, throwable(Throwable.class))
			.isInstanceOf(CancellationException.class);
	}

	@Test
	@DisplayName("With @Async, too, the caller's future has the failure")
	void asyncFailures() {
		AsyncShop async = bean(AsyncShop.class);
		this.work.future.completeExceptionally(new IOException("failed"));
		assertThat(async.sell()).failsWithin(SOON).withThrowableThat().withStackTraceContaining("failed");
		awaitEvents("async", "lock", "body", "unlock", "done");
		this.locks.busy();
		assertThat(async.sell()).failsWithin(SOON)
			.withThrowableThat()
			.withStackTraceContaining(LockNotAcquiredException.class.getName());
		assertThat(this.locks.asyncRequests()).as("its thread waits").isEmpty();
	}

	@Test
	@DisplayName("Nothing happens before the subscription of a chain; each subscription acquires and calls the method anew")
	void anewForEachSubscription() {
		this.work.future.complete("sold");
		Mono<String> result = this.shop.sellMono("a");
		assertThat(this.locks.requests()).isEmpty();
		assertThat(result.block(SOON)).isEqualTo("sold");
		assertThat(result.block(SOON)).isEqualTo("sold");
		awaitEvents("permit", "lock", "body", "unlock", "return", "permit", "lock", "body", "unlock", "return");
		assertThat(this.locks.keys()).containsExactly("stock:a", "stock:a");
	}

	@Test
	@DisplayName("Values come at once and on demand; the lock is kept until their end")
	void flux() {
		TestPublisher<String> source = TestPublisher.create();
		StepVerifier.create(this.shop.chain(source.flux()), 0)
			.then(() -> awaitEvents("lock", "body"))
			.thenRequest(2)
			.then(() -> source.next("1", "2"))
			.expectNext("1", "2")
			.then(() -> assertEvents("lock", "body"))
			.then(source::complete)
			.verifyComplete();
		source.assertNoRequestOverflow();
		awaitEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("Cancellation during the chain cancels the method's result and releases all leases")
	void cancelledChain() {
		TestPublisher<String> source = TestPublisher.create();
		Disposable running = this.shop.limitedChain(source.mono()).subscribe();
		awaitEvents("permit", "lock", "body");
		running.dispose();
		source.assertCancelled();
		awaitEvents("permit", "lock", "body", "unlock", "return");
	}

	@Test
	@DisplayName("The method of a chain and the chain run under its leases, on any thread")
	void leaseContextOfChain() {
		AtomicReference<LeaseContext> inChain = new AtomicReference<>();
		AtomicReference<LeaseContext> after = new AtomicReference<>();
		Mono<String> delayed = Mono.delay(Duration.ofMillis(1))
			.then(ReactiveLeaseContext.current())
			.doOnNext(inChain::set)
			.map((context) -> "sold");
		assertThat(this.shop.limitedChain(delayed).doOnNext((value) -> after.set(LeaseContext.current())).block(SOON))
			.isEqualTo("sold");
		assertThat(this.work.context.lock()).isInstanceOf(LockLease.class);
		assertThat(this.work.context.leases()).hasSize(2).last().isInstanceOf(PermitLease.class);
		assertThat(inChain.get().leases()).isEqualTo(this.work.context.leases());
		assertThat(after.get().leases()).isEmpty();
	}

	@Test
	@DisplayName("A nested chain acquires under the outer chain's leases, wherever it is subscribed")
	void nested() {
		assertThat(this.shop.limitedChain(Mono.defer(() -> this.shop.inner())).block(SOON)).isEqualTo("inner");
		assertThat(this.shop.detaching().block(SOON)).isEqualTo("inner");
		assertThat(this.locks.requests()).extracting(LaterInvocationTests::leasesOf)
			.containsExactly(List.of("sales"), List.of("chain", "sales"), List.of(), List.of("outer"));
	}

	@Test
	@DisplayName("Leases of the subscriber take precedence over leases of the caller")
	void contextOfCaller() {
		LeaseContext.Scope scope = LeaseContext.empty().with(new RecordingLease("caller")).open();
		Mono<String> result;
		try {
			result = this.shop.inner();
		}
		finally {
			scope.close();
		}
		result.block(SOON);
		assertThat(leasesOf(this.locks.lastRequest())).containsExactly("caller");
		result.contextWrite(ReactiveLeaseContext.with(new RecordingLease("subscriber"))).block(SOON);
		assertThat(leasesOf(this.locks.lastRequest())).containsExactly("subscriber");
	}

	private static List<String> leasesOf(LockRequest request) {
		LeaseContext context = request.context();
		return (context != null) ? context.leases().stream().map((lease) -> lease.key()).toList() : List.of();
	}

	static Stream<Arguments> types() {
		return Stream.of(type("Publisher", Types::publisher),
				type("Flow.Publisher", (types) -> FlowAdapters.toPublisher(types.flow())),
				type("Observable", (types) -> types.observable().toFlowable(BackpressureStrategy.ERROR)),
				type("Single", (types) -> types.single().toFlowable()),
				type("Completable", (types) -> types.completable().andThen(Flowable.just("sold"))));
	}

	private static Arguments type(String name, Function<Types, Publisher<String>> call) {
		return Arguments.of(Named.of(name, call));
	}

	@ParameterizedTest
	@MethodSource("types")
	@DisplayName("The lock is kept for other reactive types, too")
	void otherTypes(Function<Types, Publisher<String>> call) {
		this.work.future.complete("sold");
		Publisher<String> result = call.apply(bean(Types.class));
		assertEvents();
		for (int i = 1; i <= 2; i++) {
			StepVerifier.create(result).expectNext("sold").expectComplete().verify(SOON);
			assertThat(this.locks.events()).hasSize(3 * i).endsWith("lock", "body", "unlock");
		}
		this.locks.busy();
		StepVerifier.create(result).expectError(LockNotAcquiredException.class).verify(SOON);
	}

	/** Work of the methods, and their observations. */
	static class Work extends Recorded {

		volatile CompletableFuture<String> future = new CompletableFuture<>();

		volatile Thread thread;

		volatile LeaseContext context;

		CompletableFuture<String> begin() {
			return begin(this.future);
		}

		<T> T begin(T result) {
			this.thread = Thread.currentThread();
			this.context = LeaseContext.current();
			return ran(result);
		}

	}

	static class Shop {

		private final Work work;

		private final ObjectProvider<Shop> self;

		Shop(Work work, ObjectProvider<Shop> self) {
			this.work = work;
			this.self = self;
		}

		@DistributedLock(key = "'stock:' + #sku")
		@Semaphore(name = "sales", limit = 3)
		CompletableFuture<String> sell(@Nullable String sku) {
			return this.work.begin();
		}

		@DistributedLock(key = "'stock:' + #sku")
		@Semaphore(name = "sales", limit = 3)
		Mono<String> sellMono(@Nullable String sku) {
			return Mono.fromFuture(this.work.begin());
		}

		@DistributedLock
		CompletableFuture<String> fail() throws IOException {
			throw new IOException("from the method");
		}

		@DistributedLock
		Mono<String> failMono() throws IOException {
			throw new IOException("from the method");
		}

		@DistributedLock
		CompletableFuture<String> nothing() {
			return null;
		}

		@DistributedLock
		Mono<String> nothingMono() {
			return null;
		}

		@DistributedLock
		CompletionStage<String> strange() {
			CompletionStage<String> stage = Mockito.mock(AdditionalAnswers.delegatesTo(this.work.begin()));
			BDDMockito.willThrow(IllegalStateException.class).given(stage).toCompletableFuture();
			return stage;
		}

		@DistributedLock
		CompletableFuture<String> slow(CompletableFuture<Void> leave) {
			CompletableFuture<String> future = this.work.begin();
			leave.join();
			return future;
		}

		@DistributedLock
		Flux<String> chain(Flux<String> source) {
			return this.work.begin(source);
		}

		@DistributedLock(name = "chain")
		@Semaphore(name = "sales", limit = 3)
		Mono<String> limitedChain(Mono<String> source) {
			return this.work.begin(source);
		}

		@DistributedLock(name = "inner")
		Mono<String> inner() {
			return Mono.just("inner");
		}

		/** Subscribes to a chain on its own. */
		@DistributedLock(name = "outer")
		Mono<String> detaching() {
			return Mono.fromFuture(this.self.getObject().inner().toFuture());
		}

	}

	static class AsyncShop {

		private final Work work;

		AsyncShop(Work work) {
			this.work = work;
		}

		@Async
		@DistributedLock(name = "async")
		CompletableFuture<String> sell() {
			return this.work.begin();
		}

	}

	@DistributedLock(name = "types")
	static class Types {

		private final Work work;

		Types(Work work) {
			this.work = work;
		}

		private Flux<String> begin() {
			return Mono.fromFuture(this.work.begin()).flux();
		}

		public Publisher<String> publisher() {
			return begin();
		}

		public Flow.Publisher<String> flow() {
			return FlowAdapters.toFlowPublisher(begin());
		}

		public Observable<String> observable() {
			return Observable.fromPublisher(begin());
		}

		public Single<String> single() {
			return Single.fromPublisher(begin());
		}

		public Completable completable() {
			return Completable.fromPublisher(begin());
		}

	}

}
