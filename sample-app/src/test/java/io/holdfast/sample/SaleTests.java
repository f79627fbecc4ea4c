package io.holdfast.sample;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.Outcome.Waits;
import io.holdfast.sample.SaleResult.Round;
import io.holdfast.sample.Sales.Stock;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.http.HttpMethod;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Sales over two instances.
 */
class SaleTests extends TwoInstancesTestCase {

	@BeforeAll
	static void start() {
		// Long enough that buyers without a lock overlap.
		startTwo("--shop.think-time=5ms");
	}

	@Test
	@DisplayName("S16: two instances sell exactly the stock with the lock, and more than the stock without")
	void sellsExactlyTheStock() {
		SaleResult sale = first.post("/sales?sku=SKU0001&stock=40&buyers=121", SaleResult.class);
		assertThat(sale.withoutLock().oversold()).isPositive();
		assertThat(sale.withoutLock().sold()).isEqualTo(40 + sale.withoutLock().oversold());
		Round locked = sale.withLock();
		assertThat(locked.sold()).isEqualTo(40);
		assertThat(locked.oversold()).isZero();
		assertThat(locked.failed()).isZero();
		assertThat(locked.instances()).containsOnlyKeys(first.port(), second.port());
		assertThat(locked.instances().values()).containsExactlyInAnyOrder(61, 60);
		Waits waits = locked.lockWaits();
		assertThat(waits).isNotNull();
		assertThat(waits.count()).isEqualTo(121);
		assertThat(waits.p50Millis()).isBetween(1L, waits.maxMillis());
		assertThat(waits.maxMillis()).isLessThanOrEqualTo(locked.millis());
		assertThat(first.context()
			.getBean(JdbcClient.class)
			.sql("SELECT token FROM holdfast_fence WHERE lock_key = 'lock:stock:SKU0001'")
			.query(Long.class)
			.single()).isPositive();
	}

	@Test
	@DisplayName("S16: the remaining stock is right when there are fewer buyers than pieces")
	void countsWhatIsLeft() {
		SaleResult sale = second.post("/sales?sku=SKU0002&stock=50&buyers=30", SaleResult.class);
		assertThat(sale.withLock().sold()).isEqualTo(30);
		assertThat(first.send(HttpMethod.GET, "/sales/SKU0002", Stock.class)).isEqualTo(new Stock("SKU0002", 20));
		assertThat(first.send(HttpMethod.GET, "/sales/SKU0009", Stock.class)).isEqualTo(new Stock("SKU0009", null));
	}

	@Test
	@DisplayName("A sale can be held with the lock only, or without it only")
	void holdsOneOfTheSales() {
		SaleResult with = first.post("/sales?sku=SKU0004&stock=3&buyers=6&lock=true", SaleResult.class);
		assertThat(with.withoutLock()).isNull();
		assertThat(with.withLock()).extracting(Round::sold).isEqualTo(3);
		SaleResult without = first.post("/sales?sku=SKU0004&stock=3&buyers=6&lock=false", SaleResult.class);
		assertThat(without.withoutLock()).extracting(Round::sold).isEqualTo(6);
		assertThat(without.withLock()).isNull();
	}

	@Test
	@DisplayName("A SKU is in a single sale at a time, at any instance")
	void refusesASecondSaleOfASku() {
		try (LockLease sale = second.context().getBean(LockService.class).acquire("sale:SKU0003")) {
			first.expectProblem(HttpMethod.POST, "/sales?sku=SKU0003&stock=1&buyers=2", 409,
					"SKU0003 is being sold already");
			sale.ensureHeld();
		}
	}

}
