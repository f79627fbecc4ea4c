package io.holdfast.fleet;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Optimistic transactions of several instances on the same keys.
 */
@WithRedis
class OptimisticTransactionTests {

	private static final int THREADS = 4;

	private final TestRedis redis;

	private final String stock;

	private final String sold;

	private final List<ConfigurableApplicationContext> instances = new ArrayList<>();

	OptimisticTransactionTests(TestRedis redis) {
		this.redis = redis;
		this.stock = redis.keyPrefix() + "stock";
		this.sold = redis.keyPrefix() + "sold";
		for (String driver : List.of("lettuce", "lettuce", "jedis")) {
			this.instances.add(TestApplication.start(redis, "spring.data.redis.client-type=" + driver,
					"holdfast.optimistic.max-attempts=1000", "holdfast.optimistic.max-time=1m",
					"holdfast.optimistic.back-off=1ms"));
		}
	}

	private CompletableFuture<Void> onAllThreads(Consumer<OptimisticTransactions> work) {
		List<CompletableFuture<Void>> ends = new ArrayList<>();
		for (ConfigurableApplicationContext instance : this.instances) {
			OptimisticTransactions transactions = instance.getBean(OptimisticTransactions.class);
			for (int i = 0; i < THREADS; i++) {
				ends.add(CompletableFuture.runAsync(() -> work.accept(transactions),
						(task) -> new Thread(task).start()));
			}
		}
		return CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new));
	}

	private String get(String key) {
		return String.valueOf(this.redis.template().opsForValue().get(key));
	}

	@Test
	@DisplayName("S8 three instances sell the same stock: exactly what there is")
	void sale() {
		this.redis.template().opsForValue().set(this.stock, "100");
		AtomicInteger buyers = new AtomicInteger();
		assertThat(onAllThreads((transactions) -> {
			while (buyers.incrementAndGet() <= 250) {
				buy(transactions);
			}
		})).succeedsWithin(Fleet.PATIENCE.multipliedBy(2));
		assertThat(get(this.stock)).isEqualTo("0");
		assertThat(get(this.sold)).isEqualTo("100");
	}

	private void buy(OptimisticTransactions transactions) {
		transactions.execute(List.of(this.stock), (tx) -> {
			int left = Integer.parseInt(String.valueOf(tx.read().opsForValue().get(this.stock)));
			if (left > 0) {
				tx.write((writer) -> writer.opsForValue().set(this.stock, String.valueOf(left - 1)));
				tx.write((writer) -> writer.opsForValue().increment(this.sold));
			}
			return left > 0;
		});
	}

}
