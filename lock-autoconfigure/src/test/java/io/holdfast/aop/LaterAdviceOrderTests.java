package io.holdfast.aop;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.annotation.DistributedLock;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Where the lock of a method whose result comes later stands among other advice.
 */
class LaterAdviceOrderTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	@Test
	@DisplayName("Inside of @Async and of a transaction, the lock is kept until both the transaction and the future have ended")
	void insideOfAsyncAndTransaction() {
		try (LockedContext context = LockedContext.withClassProxies(Asynchronous.class,
				AdviceOrderTests.EarlyTransactions.class, FutureShop.class)) {
			CompletableFuture<String> work = new CompletableFuture<>();
			CompletableFuture<String> result = context.bean(FutureShop.class).later(work);
			Awaitility.await().atMost(SOON).until(() -> context.locks().events().contains("commit"));
			context.locks().record("work");
			work.complete("sold");
			assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
			assertThat(context.locks().events()).containsExactly("begin", "lock", "body", "commit", "work", "unlock");
		}
	}

	@Test
	@DisplayName("A reactive transaction is inside of the lock, which is released after its commit")
	void reactiveTransaction() {
		try (LockedContext context = LockedContext.withClassProxies(ReactiveConfiguration.class, Shop.class)) {
			Mono<String> result = context.bean(Shop.class).inTransaction();
			assertThat(context.locks().events()).isEmpty();
			assertThat(result.block(SOON)).isEqualTo("sold");
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "work", "commit", "unlock");
		}
	}

	@Test
	@DisplayName("A transaction of a method with a future is inside of the lock, on the thread that runs the method")
	void transactionOfFuture() {
		try (LockedContext context = LockedContext.withClassProxies(AdviceOrderTests.Transactions.class,
				FutureShop.class)) {
			assertThat(context.bean(FutureShop.class).inTransaction()).succeedsWithin(SOON);
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "commit", "unlock");
		}
	}

	@Test
	@DisplayName("With @Retryable, each attempt of a reactive method takes and releases the lock, and calls the method anew")
	void retriedReactive() {
		try (LockedContext context = LockedContext.withClassProxies(AdviceOrderTests.Resilient.class,
				ReactiveConfiguration.class, Shop.class)) {
			assertThat(context.bean(Shop.class).retried().block(SOON)).isEqualTo("at last");
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock", "lock", "body", "unlock");
		}
	}

	@Test
	@DisplayName("A scheduled reactive method runs under its lock")
	void scheduled() {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Scheduling.class, Job.class)) {
			Awaitility.await()
				.atMost(SOON)
				.untilAsserted(() -> assertThat(context.locks().events()).startsWith("lock", "body", "unlock"));
		}
	}

	static class Shop extends Recorded {

		private int attempts;

		@Transactional
		@DistributedLock
		public Mono<String> inTransaction() {
			return Mono.fromSupplier(() -> {
				this.recorder.record("work");
				return "sold";
			}).doOnSubscribe((subscription) -> this.recorder.record("body"));
		}

		@Retryable(delay = 1)
		@DistributedLock
		public Mono<String> retried() {
			this.recorder.record("body");
			return (this.attempts++ == 0) ? Mono.error(new IllegalStateException("try again")) : Mono.just("at last");
		}

	}

	static class FutureShop extends Recorded {

		@Transactional
		@DistributedLock
		public CompletableFuture<String> inTransaction() {
			this.recorder.record("body");
			return CompletableFuture.completedFuture("sold");
		}

		@Async
		@Transactional
		@DistributedLock
		public CompletableFuture<String> later(CompletableFuture<String> work) {
			this.recorder.record("body");
			return work;
		}

	}

	static class Job extends Recorded {

		@Scheduled(fixedDelay = 1, timeUnit = TimeUnit.HOURS)
		@DistributedLock
		Mono<Void> run() {
			return Mono.fromRunnable(() -> this.recorder.record("body"));
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	static class ReactiveConfiguration {

		@Bean
		ReactiveRecordingTransactions transactionManager(RecordingLocks recorder) {
			return new ReactiveRecordingTransactions(recorder);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class Asynchronous {

	}

}
