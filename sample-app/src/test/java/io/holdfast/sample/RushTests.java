package io.holdfast.sample;

import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.Outcome.Waits;
import io.holdfast.sample.RushResult.Round;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpMethod;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Rushes for a product that is not in the cache, over two instances.
 */
class RushTests extends TwoInstancesTestCase {

	@BeforeAll
	static void start() {
		// Long enough that readers without a lock overlap.
		startTwo("--shop.load-time=200ms");
	}

	@Test
	@DisplayName("S15: of all readers at two instances one loads the product with the lock, and many without")
	void loadsOnce() {
		RushResult rush = first.post("/rush?sku=SKU0001&readers=51", RushResult.class);
		assertThat(rush.withoutLock().loads()).isGreaterThan(1);
		Round locked = rush.withLock();
		assertThat(locked.loads()).isEqualTo(1);
		assertThat(locked.reads().instances()).containsOnlyKeys(first.port(), second.port());
		assertThat(locked.reads().instances().values()).containsExactlyInAnyOrder(26, 25);
		for (Outcome reads : Stream.of(rush.withoutLock(), locked).map(Round::reads).toList()) {
			assertThat(reads.succeeded()).isEqualTo(51);
			assertThat(reads.failed()).isZero();
			Waits waits = reads.waits();
			assertThat(waits.count()).isEqualTo(51);
			assertThat(waits.maxMillis()).isBetween(200L, reads.millis());
		}
	}

	@Test
	@DisplayName("S15: a request that finds the product in the cache takes no lock")
	void readsWithoutLock() throws InterruptedException {
		ProductCache cache = first.context().getBean(ProductCache.class);
		cache.load("SKU0002");
		Rushes rushes = second.context().getBean(Rushes.class);
		try (LockLease lock = first.context().getBean(LockService.class).acquire("product:SKU0002")) {
			assertThat(rushes.read("SKU0002", true).success()).isTrue();
			lock.ensureHeld();
		}
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		assertThat(redis.getExpire("shop:product:SKU0002")).isPositive();
	}

	@Test
	@DisplayName("A single rush for a SKU runs at a time, at any instance")
	void refusesASecondRush() {
		try (LockLease rush = second.context().getBean(LockService.class).acquire("rush:SKU0003")) {
			first.expectProblem(HttpMethod.POST, "/rush?sku=SKU0003&readers=2", 409,
					"There is a rush for SKU0003 already");
			rush.ensureHeld();
		}
	}

}
