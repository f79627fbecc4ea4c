package io.holdfast.aop;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLeaseContext;
import io.reactivex.rxjava3.core.BackpressureStrategy;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.core.Single;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.FlowAdapters;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

import org.springframework.beans.factory.ObjectProvider;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Annotated methods that return a reactive type.
 */
class ReactiveInvocationTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	@AutoClose
	private LockedContext context;

	private RecordingLocks locks;

	private Work work;

	private Shop shop;

	@BeforeEach
	void start() {
		this.context = LockedContext.of(Work.class, Shop.class);
		this.locks = this.context.locks();
		this.work = this.context.bean(Work.class);
		this.shop = this.context.bean(Shop.class);
	}

	private void awaitEvents(String... events) {
		await().atMost(SOON).untilAsserted(() -> assertThat(this.locks.events()).containsExactly(events));
	}

	@Test
	@DisplayName("Nothing happens before the subscription; each subscription acquires, calls the method, and ends after the release")
	void anewForEachSubscription() {
		Mono<String> result = this.shop.sell("a").doOnSuccess((value) -> this.locks.record("result"));
		assertThat(this.locks.requests()).isEmpty();
		String[] once = { "permit", "lock", "body", "unlock", "return", "result" };
		assertThat(result.block(SOON)).isEqualTo("sold");
		awaitEvents(once);
		assertThat(result.block(SOON)).isEqualTo("sold");
		awaitEvents(Stream.concat(Stream.of(once), Stream.of(once)).toArray(String[]::new));
		assertThat(this.locks.keys()).containsExactly("stock:a", "stock:a");
	}

	@Test
	@DisplayName("The method runs on another thread than the subscriber, also after an immediate grant")
	void neverOnTheSubscribersThread() {
		this.locks.immediate();
		this.context.semaphores().immediate();
		assertThat(this.shop.sell("a").block(SOON)).isEqualTo("sold");
		assertThat(this.work.thread).isNotNull().isNotSameAs(Thread.currentThread());
	}

	@Test
	@DisplayName("Values come at once and on demand; the lock is kept until their end")
	void flux() {
		TestPublisher<String> source = TestPublisher.create();
		this.work.result = source.flux();
		StepVerifier.create(this.shop.many(), 0)
			.then(() -> awaitEvents("lock", "body"))
			.thenRequest(2)
			.then(() -> source.next("1", "2"))
			.expectNext("1", "2")
			.then(() -> assertThat(this.locks.events()).hasSize(2))
			.then(source::complete)
			.verifyComplete();
		source.assertNoRequestOverflow();
		awaitEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("An error, an exception and a null publisher release all leases before the subscriber gets the error")
	void failures() throws IOException {
		this.work.result = Flux.error(new IOException("failed later"));
		StepVerifier.create(this.shop.sell("a"))
			.expectErrorSatisfies(
					(ex) -> assertThat(ex).isExactlyInstanceOf(IOException.class).hasMessage("failed later"))
			.verify(SOON);
		StepVerifier.create(this.shop.fail())
			.expectErrorSatisfies(
					(ex) -> assertThat(ex).isExactlyInstanceOf(IOException.class).hasMessage("from the method"))
			.verify(SOON);
		StepVerifier.create(this.shop.nothing())
			.expectErrorSatisfies((ex) -> assertThat(ex).isInstanceOf(IllegalStateException.class)
				.hasMessageContaining("Shop.nothing() returned null"))
			.verify(SOON);
		assertThat(this.locks.events()).containsExactly("permit", "lock", "body", "unlock", "return", "lock", "unlock",
				"lock", "unlock");
	}

	@Test
	@DisplayName("Cancellation during the wait for the lock ends the wait, returns the permit, and the method never runs")
	void cancelledWait() {
		this.locks.waiting();
		Disposable waiting = this.shop.sell("a").subscribe();
		await().atMost(SOON).until(() -> !this.locks.asyncRequests().isEmpty());
		waiting.dispose();
		assertThat(this.locks.asyncRequests().get(0)).isCancelled();
		awaitEvents("permit", "return");
	}

	@Test
	@DisplayName("Cancellation during the chain cancels the method's result and releases all leases")
	void cancelledCall() {
		TestPublisher<String> source = TestPublisher.create();
		this.work.result = source.flux();
		Disposable running = this.shop.sell("a").subscribe();
		awaitEvents("permit", "lock", "body");
		running.dispose();
		source.assertCancelled();
		awaitEvents("permit", "lock", "body", "unlock", "return");
	}

	@Test
	@DisplayName("The method and its chain run under its leases, on any thread")
	void leaseContext() {
		AtomicReference<LeaseContext> inChain = new AtomicReference<>();
		this.work.result = Mono.delay(Duration.ofMillis(1))
			.then(ReactiveLeaseContext.current())
			.doOnNext(inChain::set)
			.map((context) -> "sold")
			.flux();
		AtomicReference<LeaseContext> after = new AtomicReference<>();
		assertThat(this.shop.sell("a").doOnNext((value) -> after.set(LeaseContext.current())).block(SOON))
			.isEqualTo("sold");
		assertThat(this.work.context.lock()).isInstanceOf(LockLease.class);
		assertThat(this.work.context.leases()).hasSize(2).last().isInstanceOf(PermitLease.class);
		assertThat(inChain.get().leases()).isEqualTo(this.work.context.leases());
		assertThat(after.get().leases()).isEmpty();
	}

	@Test
	@DisplayName("A nested chain acquires under the outer chain's leases, wherever it is subscribed")
	void nested() {
		this.work.result = Mono.defer(() -> this.shop.inner()).flux();
		assertThat(this.shop.sell("a").block(SOON)).isEqualTo("inner");
		assertThat(this.shop.detaching().block(SOON)).isEqualTo("inner");
		List<LockRequest> requests = this.locks.requests();
		assertThat(requests).hasSize(4);
		assertThat(leasesOf(requests.get(0))).containsExactly("sales");
		assertThat(leasesOf(requests.get(1))).containsExactly("stock:a", "sales");
		assertThat(leasesOf(requests.get(2))).isEmpty();
		assertThat(leasesOf(requests.get(3))).containsExactly("outer");
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
		try (LockedContext other = LockedContext.of(Work.class, Types.class)) {
			Publisher<String> result = call.apply(other.bean(Types.class));
			assertThat(other.locks().events()).isEmpty();
			for (int i = 1; i <= 2; i++) {
				StepVerifier.create(result).expectNext("sold").expectComplete().verify(SOON);
				assertThat(other.locks().events()).hasSize(3 * i).endsWith("lock", "body", "unlock");
			}
			other.locks().busy();
			StepVerifier.create(result).expectError(LockNotAcquiredException.class).verify(SOON);
		}
	}

	/** Results of the methods, and their observations. */
	static class Work extends Recorded {

		volatile Flux<String> result = Flux.just("sold");

		volatile LeaseContext context;

		volatile Thread thread;

		Flux<String> begin() {
			this.thread = Thread.currentThread();
			this.context = LeaseContext.current();
			this.recorder.record("body");
			return this.result;
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
		Mono<String> sell(String sku) {
			return this.work.begin().next();
		}

		@DistributedLock
		Flux<String> many() {
			return this.work.begin();
		}

		@DistributedLock
		Mono<String> fail() throws IOException {
			throw new IOException("from the method");
		}

		@DistributedLock
		Mono<String> nothing() {
			return null;
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

	@DistributedLock(name = "types")
	static class Types {

		private final Work work;

		Types(Work work) {
			this.work = work;
		}

		public Publisher<String> publisher() {
			return this.work.begin();
		}

		public Flow.Publisher<String> flow() {
			return FlowAdapters.toFlowPublisher(this.work.begin());
		}

		public Observable<String> observable() {
			return Observable.fromPublisher(this.work.begin());
		}

		public Single<String> single() {
			return Single.fromPublisher(this.work.begin());
		}

		public Completable completable() {
			return Completable.fromPublisher(this.work.begin());
		}

	}

}
