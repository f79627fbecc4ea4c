package io.holdfast.aop;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestTransactions;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Transactions with many calls that need the same lock, or many locks.
 */
class LargeTransactionTests {

	private static final int CALLS = 32_000;

	@AutoClose
	private final ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
		.properties("holdfast.backend=memory", "holdfast.lock.wait-time=0")
		.run();

	private final Shop shop = this.context.getBean(Shop.class);

	private final LockService locks = this.context.getBean(LockService.class);

	private int count;

	private final TransactionTemplate transaction = new TransactionTemplate(new TestTransactions());

	/** Quadratic lists took 20 seconds of a processor and more, on a quiet machine. */
	@ParameterizedTest
	@EnumSource
	@DisplayName("Tens of thousands of calls for one lock, or for different ones, cost each what the first ones cost")
	void calls(Call call) {
		long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
		this.transaction.executeWithoutResult((status) -> {
			for (int i = 0; i < CALLS; i++) {
				call.body.accept(this);
			}
		});
		Duration used = Duration.ofNanos(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start);
		assertThat(used).isLessThan(Duration.ofSeconds(5));
		assertThat(this.locks.tryAcquire("job")).isPresent().get().satisfies(LockLease::close);
	}

	@Test
	@DisplayName("A lease that was left and is released by hand lets the calls in that come after another call")
	void releasedByHand() {
		this.transaction.executeWithoutResult((status) -> {
			LockLease first = this.shop.sell();
			this.shop.sell();
			first.close();
			assertThat(this.shop.sell().isHeld()).isTrue();
			assertThat(this.locks.<String, RuntimeException>withLock("job", () -> "in")).isEqualTo("in");
		});
		assertThat(this.locks.tryAcquire("job")).isPresent().get().satisfies(LockLease::close);
	}

	enum Call {

		ANNOTATED((tests) -> tests.shop.sell()),

		SERVICE((tests) -> tests.locks.withLock("job", () -> {
		})),

		SEVERAL_KEYS((tests) -> tests.locks.withLock(LockRequest.ofAll(List.of("job", "stock")), () -> {
		})),

		MAX_HOLD((tests) -> tests.locks.withLock(LockRequest.of("job").maxHold(Duration.ofHours(1)), () -> {
		})),

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

		@DistributedLock(name = "item", key = "#number")
		CompletableFuture<String> order(int number) {
			return CompletableFuture.completedFuture("ordered");
		}

	}

	@Import({ TestApplication.class, Shop.class })
	static class Application {

	}

}
