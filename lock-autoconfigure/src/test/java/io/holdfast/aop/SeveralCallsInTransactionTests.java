package io.holdfast.aop;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

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
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Calls of a transaction for the same lock in turn, on any thread.
 */
@WithRedis
class SeveralCallsInTransactionTests {

	private static final Duration SOON = Duration.ofSeconds(10);

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
