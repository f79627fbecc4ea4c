package io.holdfast.aop;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.reactivex.rxjava3.core.BackpressureStrategy;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.core.Single;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.context.annotation.Scope;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Publishers of annotated methods that are subscribed to several times: keys and
 * conditions of each subscription.
 */
class ResubscriptionTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	@AutoClose
	private final LockedContext context = LockedContext.withClassProxies(AdviceOrderTests.Resilient.class, Day.class,
			Jobs.class);

	private final RecordingLocks locks = this.context.locks();

	private final Day day = this.context.bean(Day.class);

	private final Jobs jobs = this.context.bean(Jobs.class);

	static Stream<Arguments> types() {
		return Stream.of(type("Mono", Jobs::mono), type("Flux", Jobs::flux), type("Flowable", Jobs::flowable),
				type("Observable", (jobs) -> jobs.observable().toFlowable(BackpressureStrategy.ERROR)),
				type("Single", (jobs) -> jobs.single().toFlowable()),
				type("Maybe", (jobs) -> jobs.maybe().toFlowable()),
				type("Completable", (jobs) -> jobs.completable().andThen(Flowable.just("done"))));
	}

	private static Arguments type(String name, Function<Jobs, Publisher<String>> call) {
		return Arguments.of(Named.of(name, call));
	}

	private static String run(Publisher<String> result) {
		return Flux.from(result).blockLast(SOON);
	}

	@ParameterizedTest
	@MethodSource("types")
	@DisplayName("The first subscription has the key of the call, each further one evaluates it anew")
	void key(Function<Jobs, Publisher<String>> call) {
		Publisher<String> result = call.apply(this.jobs);
		this.day.set("tuesday");
		assertThat(run(result)).isEqualTo("done");
		this.day.set("wednesday");
		assertThat(run(result)).isEqualTo("done");
		this.day.set("thursday");
		assertThat(run(result)).isEqualTo("done");
		assertThat(this.locks.keys()).containsExactly("monday", "wednesday", "thursday");
	}

	@ParameterizedTest
	@MethodSource("types")
	@DisplayName("A condition that is false at the call lets the first run go without, and is evaluated again for each further one")
	void condition(Function<Jobs, Publisher<String>> call) {
		this.day.set("sunday");
		Publisher<String> result = call.apply(this.jobs);
		assertThat(run(result)).isEqualTo("done");
		assertThat(this.locks.events()).doesNotContain("lock");
		this.day.set("monday");
		assertThat(run(result)).isEqualTo("done");
		assertThat(this.locks.events()).endsWith("lock", "body", "unlock");
		this.locks.forget();
		this.day.set("sunday");
		assertThat(run(result)).isEqualTo("done");
		assertThat(this.locks.requests()).isEmpty();
		this.day.set("tuesday");
		assertThat(run(result)).isEqualTo("done");
		assertThat(this.locks.keys()).containsExactly("tuesday");
	}

	@ParameterizedTest
	@MethodSource("types")
	@DisplayName("An expression that fails at the call fails the first subscription only")
	void failure(Function<Jobs, Publisher<String>> call) {
		this.day.set("never");
		Publisher<String> result = call.apply(this.jobs);
		this.day.set("monday");
		StepVerifier.create(result).expectErrorMessage("There is no such day").verify(SOON);
		assertThat(this.locks.events()).isEmpty();
		assertThat(run(result)).isEqualTo("done");
		this.day.set("never");
		StepVerifier.create(result).expectErrorMessage("There is no such day").verify(SOON);
		assertThat(this.locks.keys()).containsExactly("monday");
	}

	@Test
	@DisplayName("The method of a call whose condition is false is called at once, on the caller's thread, and once")
	void withoutLease() {
		this.day.set("sunday");
		Mono<String> result = this.jobs.mono();
		assertThat(this.locks.events()).containsExactly("body");
		assertThat(this.day.thread).isSameAs(Thread.currentThread());
		assertThat(result.repeat(2).collectList().block(SOON)).hasSize(3);
		assertThat(this.locks.events()).containsExactly("body");
		this.day.failure = new IllegalStateException("from the method");
		assertThatIllegalStateException().isThrownBy(this.jobs::mono).withMessage("from the method");
	}

	@Test
	@DisplayName("repeat(), and retry() after a failed expression, evaluate anew")
	void repeated() {
		Mono<String> result = this.jobs.mono().doOnNext((value) -> this.day.next());
		assertThat(result.repeat(2).collectList().block(SOON)).hasSize(3);
		assertThat(this.locks.keys()).containsExactly("monday", "tuesday", "wednesday");
		this.locks.forget();
		this.day.set("never");
		assertThat(this.jobs.mono().doOnError((ex) -> this.day.set("friday")).retry(1).block(SOON)).isEqualTo("done");
		assertThat(this.locks.keys()).containsExactly("friday");
	}

	@Test
	@DisplayName("@Retryable evaluates anew for each further attempt")
	void retried() {
		this.day.failures.set(1);
		assertThat(this.jobs.retried().block(SOON)).isEqualTo("done");
		assertThat(this.locks.keys()).containsExactly("monday", "tuesday");
	}

	@Test
	@DisplayName("Permit and lock are evaluated together, each by its own condition")
	void bothAnnotations() {
		this.day.set("sunday");
		Flux<String> result = this.jobs.both();
		assertThat(result.blockLast(SOON)).isEqualTo("done");
		assertThat(this.locks.events()).containsExactly("permit", "body", "return");
		this.locks.forget();
		this.day.set("monday");
		assertThat(result.blockLast(SOON)).isEqualTo("done");
		assertThat(this.locks.events()).containsExactly("permit", "lock", "body", "unlock", "return");
		assertThat(this.locks.keys()).containsExactly("monday");
		assertThat(this.context.semaphores().keys()).containsExactly("sunday", "monday");
	}

	@Test
	@DisplayName("Several keys are evaluated anew")
	void severalKeys() {
		Mono<String> result = this.jobs.several();
		assertThat(result.block(SOON)).isEqualTo("done");
		this.day.set("tuesday");
		assertThat(result.block(SOON)).isEqualTo("done");
		assertThat(this.locks.requests()).extracting((request) -> request.keys())
			.containsExactly(List.of("a", "monday"), List.of("a", "tuesday"));
	}

	@Test
	@DisplayName("Of two concurrent subscribers, one has the key of the call")
	void concurrent() throws Exception {
		Mono<String> result = this.jobs.mono();
		this.day.set("tuesday");
		CyclicBarrier together = new CyclicBarrier(2);
		CountDownLatch done = new CountDownLatch(2);
		for (int i = 0; i < 2; i++) {
			new Thread(() -> {
				try {
					together.await();
				}
				catch (Exception ex) {
					throw new IllegalStateException(ex);
				}
				result.subscribe((value) -> done.countDown());
			}).start();
		}
		assertThat(done.await(10, TimeUnit.SECONDS)).isTrue();
		assertThat(this.locks.keys()).containsExactlyInAnyOrder("monday", "tuesday");
	}

	@Test
	@DisplayName("The strategy for calls without a lease is that of the call's scope, for later subscriptions too")
	void strategyOfTheCall() {
		try (LockedContext scoped = LockedContext.withClassProxies(Day.class, Jobs.class, ThreadStrategy.class)) {
			ThreadStrategy.CALLER.set("caller");
			Mono<String> result = scoped.bean(Jobs.class).mono();
			ThreadStrategy.CALLER.remove();
			scoped.locks().busy();
			StepVerifier.create(result).expectNext("busy for caller").expectComplete().verify(SOON);
			StepVerifier.create(result).expectNext("busy for caller").expectComplete().verify(SOON);
			scoped.locks().free();
			assertThat(result.block(SOON)).isEqualTo("done");
		}
	}

	@Test
	@DisplayName("Each run of a scheduled method has its own key, the first one too: its call is at the start")
	void scheduled() {
		try (LockedContext scheduling = LockedContext.withClassProxies(AdviceOrderTests.Scheduling.class, Day.class,
				ScheduledJobs.class)) {
			RecordingLocks locks = scheduling.locks();
			await().atMost(SOON).until(() -> locks.keys().size() > 2);
			assertThat(locks.keys()).startsWith("tuesday", "wednesday", "thursday");
		}
	}

	@Test
	@DisplayName("Without the lock, each further subscription is told")
	void notAcquired() {
		Mono<String> result = this.jobs.mono();
		this.locks.busy();
		StepVerifier.create(result).expectError(LockNotAcquiredException.class).verify(SOON);
		StepVerifier.create(result).expectError(LockNotAcquiredException.class).verify(SOON);
		this.locks.free();
		assertThat(result.block(SOON)).isEqualTo("done");
	}

	/** The day by which jobs are locked, of the whole application. */
	static class Day {

		private static final List<String> DAYS = List.of("monday", "tuesday", "wednesday", "thursday", "friday");

		private volatile String today = "monday";

		/** What the method is to throw. */
		volatile @Nullable RuntimeException failure;

		/** How many chains are to fail. */
		final AtomicInteger failures = new AtomicInteger();

		volatile @Nullable Thread thread;

		void set(String day) {
			this.today = day;
		}

		void next() {
			this.today = DAYS.get((DAYS.indexOf(this.today) + 1) % DAYS.size());
		}

		public String today() {
			if (this.today.equals("never")) {
				throw new IllegalStateException("There is no such day");
			}
			return this.today;
		}

	}

	@DistributedLock(key = "@'resubscriptionTests.Day'.today()",
			condition = "@'resubscriptionTests.Day'.today() != 'sunday'")
	static class Jobs extends Recorded {

		private final Day day;

		Jobs(Day day) {
			this.day = day;
		}

		public Mono<String> mono() {
			this.recorder.record("body");
			this.day.thread = Thread.currentThread();
			RuntimeException failure = this.day.failure;
			if (failure != null) {
				throw failure;
			}
			return Mono.just("done");
		}

		public Flux<String> flux() {
			this.recorder.record("body");
			return Flux.just("part", "done");
		}

		public Flowable<String> flowable() {
			return Flowable.fromPublisher(flux());
		}

		public Observable<String> observable() {
			return Observable.fromPublisher(flux());
		}

		public Single<String> single() {
			return Single.fromPublisher(mono());
		}

		public Maybe<String> maybe() {
			return Maybe.fromPublisher(mono());
		}

		public Completable completable() {
			return Completable.fromPublisher(flux());
		}

		@Retryable(maxRetries = 2, delay = 1)
		public Mono<String> retried() {
			if (this.day.failures.getAndDecrement() > 0) {
				this.day.next();
				return Mono.error(new IllegalStateException("first attempt"));
			}
			return Mono.just("done");
		}

		@Semaphore(key = "@'resubscriptionTests.Day'.today()", limit = 1)
		public Flux<String> both() {
			return flux();
		}

		@DistributedLock(key = "{'a', @'resubscriptionTests.Day'.today()}")
		public Mono<String> several() {
			return mono();
		}

	}

	/** The strategy of the caller's thread. */
	@Scope("prototype")
	static class ThreadStrategy implements NotAcquiredStrategy {

		static final ThreadLocal<@Nullable String> CALLER = new ThreadLocal<>();

		private final @Nullable String caller = CALLER.get();

		@Override
		public Object answer(Method method, NotAcquiredException ex) {
			return Mono.just("busy for " + this.caller);
		}

	}

	static class ScheduledJobs implements SmartInitializingSingleton {

		private final Day day;

		ScheduledJobs(Day day) {
			this.day = day;
		}

		@Override
		public void afterSingletonsInstantiated() {
			this.day.next();
		}

		@Scheduled(fixedDelay = 5, timeUnit = TimeUnit.MILLISECONDS)
		@DistributedLock(key = "@'resubscriptionTests.Day'.today()")
		Mono<Void> run() {
			return Mono.fromRunnable(this.day::next);
		}

	}

}
