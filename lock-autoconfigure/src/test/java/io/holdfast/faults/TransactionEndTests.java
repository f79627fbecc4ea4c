package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import io.holdfast.LeaseLostException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.testing.TestTransactions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.transaction.support.TransactionTemplate;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Transactions that keep many leases, and end while Redis is silent: their connection to
 * the database is not kept for the releases.
 */
class TransactionEndTests extends ProxiedTestCase {

	private final TransactionTemplate transaction = new TransactionTemplate(new TestTransactions());

	private Instance start(String... properties) {
		Instance instance = this.fleet.start(this.proxy, Shop.class, properties);
		instance.warmUp();
		return instance;
	}

	@ParameterizedTest(name = "{0} calls of annotated methods")
	@ValueSource(ints = { 20, 19, 1, 0 })
	@DisplayName("A commit waits for no release, and all releases are under way together")
	void releases(int annotated) {
		Instance instance = start("holdfast.redis.command-timeout=30s");
		Shop shop = instance.context().getBean(Shop.class);
		AtomicLong committed = new AtomicLong();
		this.transaction.executeWithoutResult((status) -> {
			IntStream.range(0, annotated).forEach((i) -> shop.sell("annotated:" + i));
			IntStream.range(annotated, 20).forEach((i) -> instance.locks().withLock("service:" + i, () -> {
			}));
			this.proxy.blackHole();
			committed.set(System.nanoTime());
		});
		assertThat(Duration.ofNanos(System.nanoTime() - committed.get())).isLessThan(SOON);
		this.proxy.pass();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Releases of lost leases are under way together, too, before the commit is refused")
	void lost() {
		Instance instance = start("holdfast.redis.command-timeout=500ms", "holdfast.lock.lease-time=1s");
		Shop shop = instance.context().getBean(Shop.class);
		AtomicLong committed = new AtomicLong();
		assertThatExceptionOfType(LeaseLostException.class)
			.isThrownBy(() -> this.transaction.executeWithoutResult((status) -> {
				IntStream.range(0, 20).forEach((i) -> shop.sell("lost:" + i));
				this.proxy.blackHole();
				await().atMost(SOON)
					.until(() -> IntStream.range(0, 20).allMatch((i) -> !this.fleet.isLocked("lost:" + i)));
				committed.set(System.nanoTime());
			}))
			.withMessageContaining("'lost:19'");
		assertThat(Duration.ofNanos(System.nanoTime() - committed.get())).isLessThan(HALF_A_SECOND.plus(SLACK));
	}

	static class Shop {

		@DistributedLock(key = "#p0", onLoss = OnLoss.THROW)
		void sell(String item) {
		}

	}

}
