package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.context.annotation.Scope;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Keys and conditions of publishers with several subscriptions.
 */
class ResubscriptionTests extends LockedTestCase {

	private final Jobs jobs = start(Jobs.class, Day.class);

	private final Day day = bean(Day.class);

	@Test
	@DisplayName("The first subscription uses the key of the call; each later subscription evaluates the key anew")
	void key() {
		Mono<String> result = this.jobs.mono();
		this.day.set("tuesday");
		assertThat(result.block(SOON)).isEqualTo("done");
		this.day.set("wednesday");
		assertThat(result.block(SOON)).isEqualTo("done");
		this.day.set("thursday");
		assertThat(result.block(SOON)).isEqualTo("done");
		assertThat(this.locks.keys()).containsExactly("monday", "wednesday", "thursday");
	}

	@Test
	@DisplayName("A condition that is false at the call frees the first run from the lock, and is evaluated anew for each later run")
	void condition() {
		this.day.set("sunday");
		Mono<String> result = this.jobs.mono();
		assertThat(result.block(SOON)).isEqualTo("done");
		assertThat(this.locks.events()).doesNotContain("lock");
		this.day.set("monday");
		assertThat(result.block(SOON)).isEqualTo("done");
		assertThat(this.locks.events()).endsWith("lock", "body", "unlock");
		this.locks.forget();
		this.day.set("sunday");
		assertThat(result.block(SOON)).isEqualTo("done");
		assertThat(this.locks.requests()).isEmpty();
		this.day.set("tuesday");
		assertThat(result.block(SOON)).isEqualTo("done");
		assertThat(this.locks.keys()).containsExactly("tuesday");
	}

	@Test
	@DisplayName("A failed expression at the call fails the first subscription only")
	void failure() {
		this.day.set("never");
		Mono<String> result = this.jobs.mono();
		this.day.set("monday");
		StepVerifier.create(result).expectErrorMessage("There is no such day").verify(SOON);
		assertThat(this.locks.events()).isEmpty();
		assertThat(result.block(SOON)).isEqualTo("done");
		this.day.set("never");
		StepVerifier.create(result).expectErrorMessage("There is no such day").verify(SOON);
		assertThat(this.locks.keys()).containsExactly("monday");
	}

	@Test
	@DisplayName("A method with a false condition runs at once, on the caller's thread, and once")
	void withoutLease() {
		this.day.set("sunday");
		Mono<String> result = this.jobs.mono();
		assertEvents("body");
		assertThat(this.day.thread).isSameAs(Thread.currentThread());
		assertThat(result.repeat(2).collectList().block(SOON)).hasSize(3);
		assertEvents("body");
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
	@DisplayName("Permit and lock are evaluated together, each by its own condition")
	void bothAnnotations() {
		this.day.set("sunday");
		Mono<String> result = this.jobs.both();
		assertThat(result.block(SOON)).isEqualTo("done");
		assertEvents("permit", "body", "return");
		this.locks.forget();
		this.day.set("monday");
		assertThat(result.block(SOON)).isEqualTo("done");
		assertEvents("permit", "lock", "body", "unlock", "return");
		assertThat(this.locks.keys()).containsExactly("monday");
		assertThat(this.semaphores.keys()).containsExactly("sunday", "monday");
	}

	@Test
	@DisplayName("Of two concurrent subscribers, one uses the key of the call")
	void concurrent() throws Exception {
		Mono<String> result = this.jobs.mono();
		this.day.set("tuesday");
		CyclicBarrier together = new CyclicBarrier(2);
		CompletableFuture<?>[] subscribers = Stream.generate(() -> CompletableFuture.supplyAsync(() -> {
			try {
				together.await();
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
			return result.block(SOON);
		}, (task) -> new Thread(task).start())).limit(2).toArray(CompletableFuture<?>[]::new);
		assertThat(CompletableFuture.allOf(subscribers)).succeedsWithin(SOON);
		assertThat(this.locks.keys()).containsExactlyInAnyOrder("monday", "tuesday");
	}

	@Test
	@DisplayName("Later subscriptions, too, use the strategy of the call's scope for calls without a lease")
	void strategyOfTheCall() {
		Jobs scoped = start(Jobs.class, Day.class, ThreadStrategy.class);
		ThreadStrategy.CALLER.set("caller");
		Mono<String> result = scoped.mono();
		ThreadStrategy.CALLER.remove();
		this.locks.busy();
		StepVerifier.create(result).expectNext("busy for caller").expectComplete().verify(SOON);
		StepVerifier.create(result).expectNext("busy for caller").expectComplete().verify(SOON);
		this.locks.free();
		assertThat(result.block(SOON)).isEqualTo("done");
	}

	@Test
	@DisplayName("Each run of a scheduled method has its own key, including the first, whose call is at the start")
	void scheduled() {
		start(AdviceOrderTests.Scheduling.class, Day.class, ScheduledJobs.class);
		await().atMost(SOON).until(() -> this.locks.keys().size() > 2);
		assertThat(this.locks.keys()).startsWith("tuesday", "wednesday", "thursday");
	}

	/** Day in the keys of the jobs, shared by the whole application. */
	static class Day {

		private static final List<String> DAYS = List.of("monday", "tuesday", "wednesday", "thursday", "friday");

		private volatile String today = "monday";

		/** Exception that the method throws. */
		volatile @Nullable RuntimeException failure;

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

		@Semaphore(key = "@'resubscriptionTests.Day'.today()", limit = 1)
		public Mono<String> both() {
			return mono();
		}

	}

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
