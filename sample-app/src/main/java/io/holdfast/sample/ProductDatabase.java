package io.holdfast.sample;

import java.time.Duration;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/**
 * Stands for a slow database of products: it makes them up, takes its time, and counts in
 * Redis how often it was asked by all instances.
 */
@Component
class ProductDatabase {

	private static final Duration COUNT_KEPT = Duration.ofHours(1);

	private final StringRedisTemplate redis;

	private final Duration loadTime;

	ProductDatabase(StringRedisTemplate redis, ShopProperties properties) {
		this.redis = redis;
		this.loadTime = properties.loadTime();
	}

	/**
	 * Load a product.
	 * @param sku which one
	 * @return the product
	 * @throws InterruptedException if interrupted before the end
	 */
	Product load(String sku) throws InterruptedException {
		this.redis.opsForValue().increment(countKey(sku));
		Thread.sleep(this.loadTime.toMillis());
		return new Product(sku, "Product " + sku, 100 + Math.floorMod(sku.hashCode(), 9_900));
	}

	/**
	 * Return how often a product was loaded since the count was last reset.
	 * @param sku which one
	 * @return the number of loads, by all instances
	 */
	int loads(String sku) {
		String count = this.redis.opsForValue().get(countKey(sku));
		return (count != null) ? Integer.parseInt(count) : 0;
	}

	void resetLoads(String sku) {
		this.redis.opsForValue().set(countKey(sku), "0", COUNT_KEPT);
	}

	private static String countKey(String sku) {
		return "shop:database:loads:" + sku;
	}

	/**
	 * A product of the shop.
	 *
	 * @param sku which one it is
	 * @param name what it is called
	 * @param cents what it costs
	 */
	record Product(String sku, String name, int cents) {
	}

}
