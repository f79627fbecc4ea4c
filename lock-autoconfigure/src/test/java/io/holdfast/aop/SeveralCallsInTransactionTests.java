package io.holdfast.aop;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Calls of one transaction that acquire on other threads, and need the same lock one
 * after the other.
 */
@WithRedis
class SeveralCallsInTransactionTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final ConfigurableApplicationContext first;

	private final ConfigurableApplicationContext second;

	private final Shop shop;

	SeveralCallsInTransactionTests(TestRedis redis) {
		this.first = TestApplication.start(redis, Application.class);
		this.second = TestApplication.start(redis, Application.class);
		this.shop = this.first.getBean(Shop.class);
	}

	/** Whether the second instance could lock it. */
	private boolean isFree() {
		Optional<LockLease> lease = this.second.getBean(LockService.class).tryAcquire("job");
		lease.ifPresent(LockLease::release);
		return lease.isPresent();
	}

	@Test
	@DisplayName("Futures of one transaction share the lock that it keeps; others get it after the commit")
	void futures() {
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			for (int i = 0; i < 3; i++) {
				assertThat(this.shop.later().orTimeout(10, TimeUnit.SECONDS).join()).isEqualTo("later");
				assertThat(isFree()).isFalse();
			}
		});
		assertThat(isFree()).isTrue();
	}

	@Test
	@DisplayName("So do chains of one reactive transaction")
	void chains() {
		TransactionalOperator transaction = TransactionalOperator
			.create(new ReactiveRecordingTransactions(new RecordingLocks()));
		assertThat(Flux.range(0, 3)
			.concatMap((i) -> this.shop.chain().map((value) -> isFree()))
			.as(transaction::transactional)
			.collectList()
			.block(SOON)).containsExactly(false, false, false);
		assertThat(isFree()).isTrue();
	}

	static class Shop {

		@DistributedLock(name = "job", waitTime = "2s")
		CompletableFuture<String> later() {
			return CompletableFuture.completedFuture("later");
		}

		@DistributedLock(name = "job", waitTime = "2s")
		Mono<String> chain() {
			return Mono.just("chain");
		}

	}

	@Import({ TestApplication.class, Shop.class })
	static class Application {

	}

}
