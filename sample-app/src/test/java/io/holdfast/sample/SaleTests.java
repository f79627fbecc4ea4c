package io.holdfast.sample;

import java.util.Map;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.Instances.Instance;
import io.holdfast.sample.Outcome.Waits;
import io.holdfast.sample.SaleResult.Round;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Sales over two instances.
 */
class SaleTests {

	private static Instances instances;

	private static Instance first;

	private static Instance second;

	@BeforeAll
	static void start() {
		instances = new Instances();
		// So long that buyers without a lock do meet.
		first = instances.start("--shop.think-time=5ms");
		second = instances.start("--shop.think-time=5ms");
	}

	@AfterAll
	static void stop() {
		instances.close();
	}

	@Test
	@DisplayName("S16: two instances sell exactly the stock with the lock, and more than that without")
	void sellsExactlyTheStock() {
		SaleResult sale = sell(first, "SKU0001", 40, 121);
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
	}

	@Test
	@DisplayName("S16: what is left of the stock is right when there are fewer buyers than pieces")
	void countsWhatIsLeft() {
		SaleResult sale = sell(second, "SKU0002", 50, 30);
		assertThat(sale.withLock().sold()).isEqualTo(30);
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		assertThat(redis.opsForValue().get("shop:stock:SKU0002")).isEqualTo("20");
	}

	@Test
	@DisplayName("A SKU is not sold twice at the same time, whichever instance sells it")
	void refusesASecondSaleOfASku() {
		try (LockLease sale = second.context().getBean(LockService.class).acquire("sale:SKU0003")) {
			first.http()
				.post()
				.uri("/sales?sku=SKU0003&stock=1&buyers=2")
				.exchange()
				.expectStatus()
				.isEqualTo(409)
				.expectBody()
				.jsonPath("$.detail")
				.value(String.class, (detail) -> assertThat(detail).startsWith("SKU0003 is being sold already"));
			sale.ensureHeld();
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			sku=SKU1&stock=0&buyers=1         | stock is 0, which is not from 1 to 100000
			sku=SKU1&stock=100001&buyers=1    | stock is 100001, which is not from 1 to 100000
			sku=SKU1&stock=1&buyers=0         | buyers is 0, which is not from 1 to 2000
			sku=SKU1&stock=1&buyers=2001      | buyers is 2001, which is not from 1 to 2000
			sku=SKU:1&stock=1&buyers=1        | sku does not match [A-Za-z0-9_-]{1,40}
			sku=&stock=1&buyers=1             | sku does not match [A-Za-z0-9_-]{1,40}
			sku=SKU1&stock=many&buyers=1      | Failed to convert 'stock' with value: 'many'
			sku=SKU1&stock=1                  | Required parameter 'buyers' is not present.
			""")
	@DisplayName("Bad parameters are refused with what is wrong")
	void refusesBadParameters(String query, String detail) {
		first.http()
			.post()
			.uri("/sales?" + query)
			.exchange()
			.expectStatus()
			.isBadRequest()
			.expectBody()
			.jsonPath("$.detail")
			.isEqualTo(detail);
	}

	@Test
	@DisplayName("The start page says what can be called")
	void saysWhatCanBeCalled() {
		first.http()
			.get()
			.uri("/")
			.exchange()
			.expectStatus()
			.isOk()
			.expectBody(String.class)
			.value((text) -> assertThat(text).contains("POST   /sales?sku=", "PUT    /settings?editor="));
	}

	private static SaleResult sell(Instance instance, String sku, int stock, int buyers) {
		SaleResult result = instance.http()
			.post()
			.uri("/sales?sku={sku}&stock={stock}&buyers={buyers}", Map.of("sku", sku, "stock", stock, "buyers", buyers))
			.exchange()
			.expectStatus()
			.isOk()
			.expectBody(SaleResult.class)
			.returnResult()
			.getResponseBody();
		assertThat(result).isNotNull();
		return result;
	}

}
