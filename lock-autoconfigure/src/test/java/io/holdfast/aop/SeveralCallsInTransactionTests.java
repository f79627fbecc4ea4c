package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.testing.ReactiveTestTransactions;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import io.holdfast.testing.WithRedis;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Calls of a transaction for the same lock in turn, on any thread.
 */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SeveralCallsInTransactionTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private static final TransactionDefinition REQUIRES_NEW = new DefaultTransactionDefinition(
			TransactionDefinition.PROPAGATION_REQUIRES_NEW);

	private final ConfigurableApplicationContext first;

	private final ConfigurableApplicationContext second;

	private final Shop shop;

	SeveralCallsInTransactionTests(TestRedis redis) {
		this.first = TestApplication.start(redis, Shop.class);
		this.second = TestApplication.start(redis, Shop.class);
		this.shop = this.first.getBean(Shop.class);
	}

	/** Whether the second instance can acquire the lock. */
	private boolean isFree() {
		Optional<LockLease> lease = this.second.getBean(LockService.class).tryAcquire("job");
		lease.ifPresent(LockLease::release);
		return lease.isPresent();
	}

	/** Wait until Redis has run the releases, which no caller awaits. */
	private void awaitFree() {
		await("release").atMost(SOON).until(this::isFree);
	}

	@Test
	@DisplayName("Futures of one transaction share its lock; other callers get the lock after the commit")
	void futures() {
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			for (int i = 0; i < 3; i++) {
				assertThat(this.shop.later().orTimeout(10, TimeUnit.SECONDS).join()).isEqualTo("later");
				assertThat(isFree()).isFalse();
			}
		});
		awaitFree();
	}

	@Test
	@DisplayName("Calls with a result and calls with a future share the lock of their transaction, in any order")
	void mixed() {
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			assertThat(this.shop.later()).succeedsWithin(SOON);
			assertThat(this.shop.now()).isEqualTo("now");
			assertThat(this.shop.untilReturn()).isEqualTo("now");
			assertThat(isFree()).isFalse();
		});
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			assertThat(this.shop.now()).isEqualTo("now");
			assertThat(this.shop.later()).succeedsWithin(SOON);
			assertThat(this.shop.laterUntilDone()).succeedsWithin(SOON);
			assertThat(this.shop.now()).isEqualTo("now");
			assertThat(isFree()).isFalse();
		});
		awaitFree();
	}

	@Test
	@DisplayName("Annotated methods and calls of withLock share the lock of their transaction")
	void services() {
		LockService locks = this.first.getBean(LockService.class);
		LockRequest job = LockRequest.of("job").waitTime(Duration.ofSeconds(2));
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			for (int i = 0; i < 2; i++) {
				assertThat(locks.withLockAsync(job, () -> CompletableFuture.completedFuture("run")))
					.succeedsWithin(SOON);
				assertThat(locks.<String, RuntimeException>withLock(job, () -> "run")).isEqualTo("run");
				assertThat(locks.tryWithLock(job, () -> "run").isAcquired()).isTrue();
				assertThat(this.shop.later()).succeedsWithin(SOON);
				assertThat(this.shop.now()).isEqualTo("now");
			}
			assertThat(isFree()).isFalse();
		});
		awaitFree();
	}

	@Test
	@DisplayName("A call that began to wait before the lock was kept for the transaction fails with advice")
	void overtaken() {
		CompletableFuture<String> work = new CompletableFuture<>();
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			CompletableFuture<String> first = this.shop.briefly(work);
			await().atMost(SOON).until(() -> !isFree());
			CompletableFuture<String> second = this.shop.briefly(work);
			work.complete("done");
			assertThat(first).succeedsWithin(SOON);
			assertThat(second).failsWithin(SOON)
				.withThrowableThat()
				.havingCause()
				.satisfies((ex) -> assertThat(ex.getSuppressed()).singleElement()
					.extracting(Throwable::getMessage, as(InstanceOfAssertFactories.STRING))
					.contains("await the future of one call before the next"));
		});
	}

	@Test
	@DisplayName("Chains of one reactive transaction share its lock")
	void chains() {
		TransactionalOperator transaction = TransactionalOperator.create(new ReactiveTestTransactions((event) -> {
		}));
		assertThat(Flux.range(0, 3)
			.concatMap((i) -> this.shop.chain().map((value) -> isFree()))
			.as(transaction::transactional)
			.collectList()
			.block(SOON)).containsExactly(false, false, false);
		awaitFree();
	}

	@ParameterizedTest
	@ValueSource(
			ints = { TransactionDefinition.PROPAGATION_REQUIRES_NEW, TransactionDefinition.PROPAGATION_NOT_SUPPORTED })
	@DisplayName("Calls in a transaction of their own or in none run under the lock that the suspended transaction keeps, however acquired")
	void inner(int propagation) {
		TestTransactions manager = new RecordingTransactions((event) -> {
		});
		TransactionTemplate inner = new TransactionTemplate(manager, new DefaultTransactionDefinition(propagation));
		LockService locks = this.first.getBean(LockService.class);
		List<Supplier<String>> calls = List.of(this.shop::now, () -> this.shop.later().join(),
				() -> locks.<String, RuntimeException>withLock("job", () -> "now"));
		for (Supplier<String> first : calls) {
			for (Supplier<String> second : calls) {
				new TransactionTemplate(manager).executeWithoutResult((status) -> {
					first.get();
					for (int i = 0; i < 2; i++) {
						inner.executeWithoutResult((own) -> {
							inner.executeWithoutResult((innermost) -> second.get());
							second.get();
							inner.executeWithoutResult((innermost) -> second.get());
						});
						assertThat(isFree()).isFalse();
					}
					assertThat(this.shop.later().join()).isEqualTo("later");
				});
				awaitFree();
			}
		}
	}

	@ParameterizedTest
	@ValueSource(
			ints = { TransactionDefinition.PROPAGATION_REQUIRES_NEW, TransactionDefinition.PROPAGATION_NOT_SUPPORTED })
	@DisplayName("Chains in a transaction of their own or in none run under the lock that the suspended transaction keeps")
	void innerChains(int propagation) {
		ReactiveTestTransactions manager = new SuspendableTransactions();
		TransactionalOperator inner = TransactionalOperator.create(manager,
				new DefaultTransactionDefinition(propagation));
		Mono<String> chain = Mono.defer(this.shop::chain);
		Mono<Boolean> calls = chain.then(chain.as(inner::transactional))
			.then(chain.then(chain.as(inner::transactional)).as(inner::transactional))
			.then(chain.as(inner::transactional).then(chain).as(inner::transactional))
			.then(chain)
			.map((value) -> isFree());
		assertThat(calls.as(TransactionalOperator.create(manager)::transactional).block(SOON)).isFalse();
		awaitFree();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A callback of a reactive transaction may suspend it for another transaction, and the lock is released afterwards")
	void suspended(Phase phase) {
		ReactiveTestTransactions manager = new ReactiveTestTransactions((event) -> {
		});
		TransactionalOperator other = TransactionalOperator.create(manager, REQUIRES_NEW);
		AtomicInteger run = new AtomicInteger();
		Mono<?> registration = TransactionSynchronizationManager.forCurrentTransaction()
			.doOnNext((transaction) -> transaction.registerSynchronization(
					new Callback(phase, Mono.<Void>fromRunnable(run::incrementAndGet).as(other::transactional))));
		// Spring calls the callbacks in the order of their registration.
		assertThat(registration.then(this.shop.chain())
			.flatMap(registration::thenReturn)
			.as(TransactionalOperator.create(manager)::transactional)
			.block(SOON)).isEqualTo("chain");
		assertThat(run).hasValue(2);
		awaitFree();
	}

	/** Reactive transactions that may be suspended without another transaction. */
	private static final class SuspendableTransactions extends ReactiveTestTransactions {

		private static final long serialVersionUID = 1L;

		SuspendableTransactions() {
			super((event) -> {
			});
		}

		@Override
		protected Object doGetTransaction(TransactionSynchronizationManager manager) {
			return manager;
		}

		@Override
		protected boolean isExistingTransaction(Object transaction) {
			return ((TransactionSynchronizationManager) transaction).isActualTransactionActive();
		}

		@Override
		protected Mono<Object> doSuspend(TransactionSynchronizationManager manager, Object transaction) {
			return Mono.just(transaction);
		}

		@Override
		protected Mono<Void> doResume(TransactionSynchronizationManager manager, @Nullable Object transaction,
				Object suspended) {
			return Mono.empty();
		}

	}

	/** Phase of the end of a transaction. */
	private enum Phase {

		BEFORE_COMMIT, BEFORE_COMPLETION, AFTER_COMMIT, AFTER_COMPLETION

	}

	/** Callback that works in one phase. */
	private record Callback(Phase phase, Mono<Void> work) implements TransactionSynchronization {

		private Mono<Void> in(Phase current) {
			return (current == this.phase) ? this.work : Mono.empty();
		}

		@Override
		public Mono<Void> beforeCommit(boolean readOnly) {
			return in(Phase.BEFORE_COMMIT);
		}

		@Override
		public Mono<Void> beforeCompletion() {
			return in(Phase.BEFORE_COMPLETION);
		}

		@Override
		public Mono<Void> afterCommit() {
			return in(Phase.AFTER_COMMIT);
		}

		@Override
		public Mono<Void> afterCompletion(int status) {
			return in(Phase.AFTER_COMPLETION);
		}

	}

	static class Shop {

		@DistributedLock(name = "job", waitTime = "2s")
		CompletableFuture<String> later() {
			return CompletableFuture.completedFuture("later");
		}

		@DistributedLock(name = "job", waitTime = "500ms")
		CompletableFuture<String> briefly(CompletableFuture<String> work) {
			return work;
		}

		@DistributedLock(name = "job", waitTime = "2s")
		String now() {
			return "now";
		}

		@DistributedLock(name = "job", waitTime = "2s", releaseAfter = ReleaseAfter.METHOD)
		String untilReturn() {
			return "now";
		}

		@DistributedLock(name = "job", waitTime = "2s", releaseAfter = ReleaseAfter.METHOD)
		CompletableFuture<String> laterUntilDone() {
			return CompletableFuture.completedFuture("later");
		}

		@DistributedLock(name = "job", waitTime = "2s")
		Mono<String> chain() {
			return Mono.just("chain");
		}

	}

}
