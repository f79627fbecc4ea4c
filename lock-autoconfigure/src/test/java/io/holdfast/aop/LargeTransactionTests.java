package io.holdfast.aop;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.testing.ReactiveTestTransactions;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestTransactions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Transactions with many calls for the same lock, or with many locks.
 */
class LargeTransactionTests {

	private static final int CALLS = 32_000;

	@AutoClose
	private final ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
		.properties("holdfast.backend=memory", "holdfast.lock.wait-time=0",
				// High enough for a busy machine.
				"holdfast.redis.command-timeout=30s")
		.run();

	private final Shop shop = this.context.getBean(Shop.class);

	private final LockService locks = this.context.getBean(LockService.class);

	private int count;

	private final TransactionTemplate transaction = new TransactionTemplate(new TestTransactions());

	private void assertFree(String key) {
		assertThat(this.locks.tryAcquire(key)).isPresent().get().satisfies(LockLease::close);
	}

	/** Quadratic lists took 20 seconds of processor time and more, on a quiet machine. */
	@Slow
	@ParameterizedTest
	@EnumSource
	@DisplayName("Each of tens of thousands of calls, for one lock or for many, costs as much as the first")
	void calls(Call call) {
		LockLease other = this.locks.acquireAsync(LockRequest.of("other")).join();
		long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
		this.transaction.executeWithoutResult((status) -> {
			for (int i = 0; i < CALLS; i++) {
				call.body.accept(this);
			}
		});
		other.close();
		Duration used = Duration.ofNanos(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start);
		assertThat(used).isLessThan(Duration.ofSeconds(5));
		assertFree("job");
	}

	@Test
	@DisplayName("A reactive call does not read the synchronizations of its transaction, which Spring would sort")
	void reactiveCalls() {
		TransactionalOperator reactive = TransactionalOperator.create(new ReactiveTestTransactions((event) -> {
		}));
		AtomicInteger looks = new AtomicInteger();
		Mono<Void> event = org.springframework.transaction.reactive.TransactionSynchronizationManager
			.forCurrentTransaction()
			.doOnNext((current) -> current.registerSynchronization(new ReactiveEvent(looks)))
			.then();
		Flux.range(0, 1000)
			.concatMap((number) -> event.then(this.shop.ship(number)))
			.doOnComplete(() -> assertThat(looks).hasValue(0))
			.as(reactive::transactional)
			.blockLast();
		assertThat(looks).as("at the commit").hasPositiveValue();
		assertFree("item:1");
	}

	@Test
	@DisplayName("Each of tens of thousands of readers in one instance costs as much as the first")
	void readers() {
		LockRequest request = LockRequest.of("list").mode(LockMode.READ);
		long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
		List<LockLease> leases = IntStream.range(0, CALLS)
			.mapToObj((i) -> this.locks.acquireAsync(request).join())
			.toList();
		leases.forEach(LockLease::close);
		Duration used = Duration.ofNanos(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start);
		assertThat(used).isLessThan(Duration.ofSeconds(5));
	}

	@Test
	@DisplayName("A suspended transaction's leases are invisible to the inner transaction, and visible again after it")
	void suspended() {
		TransactionTemplate other = new TransactionTemplate(this.transaction.getTransactionManager());
		other.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		LockRequest request = LockRequest.of("job").reentrant(false);
		this.transaction.executeWithoutResult((status) -> {
			this.shop.sell();
			other.executeWithoutResult((inner) -> {
				this.shop.sell(1);
				assertThat(this.locks.tryAcquire(request)).isEmpty();
			});
			// Released by the inner transaction.
			assertFree("item:1");
			assertThat(this.shop.sell().isHeld()).isTrue();
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCommit() {
					LargeTransactionTests.this.shop.sell();
					other.executeWithoutResult((inner) -> LargeTransactionTests.this.shop.sell(2));
					LargeTransactionTests.this.shop.sell();
				}

			});
		});
		assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
		assertFree("job");
		assertFree("item:2");
	}

	@Test
	@DisplayName("After an early release of a lease kept for the transaction, later calls acquire the lock under another such lease")
	void releasedByHand() {
		this.transaction.executeWithoutResult((status) -> {
			LockLease first = this.shop.sell();
			this.shop.sell();
			first.close();
			assertThat(this.shop.sell().isHeld()).isTrue();
			assertThat(this.locks.<String, RuntimeException>withLock("job", () -> "in")).isEqualTo("in");
		});
		assertFree("job");
	}

	enum Call {

		ANNOTATED((tests) -> tests.shop.sell()),

		SERVICE((tests) -> tests.locks.withLock("job", () -> {
		})),

		SEVERAL_KEYS((tests) -> tests.locks.withLock(LockRequest.ofAll(List.of("job", "stock")), () -> {
		})),

		MAX_HOLD((tests) -> tests.locks.withLock(LockRequest.of("job").maxHold(Duration.ofHours(1)), () -> {
		})),

		MANY_MAX_HOLDS((tests) -> tests.locks
			.withLock(LockRequest.of("job").maxHold(Duration.ofMillis(7_200_000 - tests.count++)), () -> {
			})),

		MANY_LEASE_TIMES((tests) -> tests.locks
			.withLock(LockRequest.of("job").leaseTime(Duration.ofMillis(60_000 + tests.count++)), () -> {
			})),

		MANY_TIMES_NOT_RENEWED((tests) -> tests.locks.withLock(
				LockRequest.of("job").leaseTime(Duration.ofMillis(600_000 - tests.count++)).autoRenew(false), () -> {
				})),

		REFUSED((tests) -> {
			tests.shop.sell(tests.count++);
			assertThat(tests.shop.sellOther()).isNull();
		}),

		WITH_EVENTS((tests) -> {
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
			});
			tests.shop.sell();
		}),

		NOT_RENEWED((tests) -> tests.locks.withLock(LockRequest.of("job").autoRenew(false), () -> {
		})),

		DIFFERENT_TERMS((tests) -> {
			tests.shop.sell();
			tests.locks.withLock(LockRequest.of("job").autoRenew(false), () -> {
			});
		}),

		DIFFERENT_KEYS((tests) -> tests.shop.sell(tests.count++)),

		DIFFERENT_KEYS_OF_SERVICE((tests) -> tests.locks.withLock("item " + tests.count++, () -> {
		})),

		DIFFERENT_KEYS_ASYNC((tests) -> tests.shop.order(tests.count++).join()),

		DIFFERENT_COMBINATIONS(
				(tests) -> tests.locks.withLock(LockRequest.ofAll(List.of("job", "item " + tests.count++)), () -> {
				}));

		private final Consumer<LargeTransactionTests> body;

		Call(Consumer<LargeTransactionTests> body) {
			this.body = body;
		}

	}

	static class Shop {

		@DistributedLock(name = "job")
		LockLease sell() {
			return LockLease.current();
		}

		@DistributedLock(name = "item", key = "#number")
		void sell(int number) {
			LockLease.current().ensureHeld();
		}

		@DistributedLock(name = "other", onTimeout = OnTimeout.SKIP)
		@Nullable LockLease sellOther() {
			return LockLease.current();
		}

		@DistributedLock(name = "item", key = "#number")
		Mono<Integer> ship(int number) {
			return Mono.just(number);
		}

		@DistributedLock(name = "item", key = "#number")
		CompletableFuture<String> order(int number) {
			return CompletableFuture.completedFuture("ordered");
		}

	}

	/** Counts its sorts by Spring. */
	private record ReactiveEvent(AtomicInteger looks)
			implements
				org.springframework.transaction.reactive.TransactionSynchronization,
				Ordered {

		@Override
		public int getOrder() {
			this.looks.incrementAndGet();
			return LOWEST_PRECEDENCE;
		}

		@Override
		public boolean equals(@Nullable Object other) {
			return this == other;
		}

		@Override
		public int hashCode() {
			return System.identityHashCode(this);
		}

	}

	@Import({ TestApplication.class, Shop.class })
	static class Application {

	}

}
