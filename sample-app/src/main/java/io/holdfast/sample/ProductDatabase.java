package io.holdfast.sample;

import java.time.Duration;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/**
 * Simulation of a slow database of products. A load generates the product, takes some
 * time, and is counted in Redis, over all instances.
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
	 * @param sku the SKU of the product
	 * @return the product
	 * @throws InterruptedException if interrupted during the load
	 */
	Product load(String sku) throws InterruptedException {
		this.redis.opsForValue().increment(countKey(sku));
		Thread.sleep(this.loadTime.toMillis());
		return new Product(sku, "Product " + sku, 100 + Math.floorMod(sku.hashCode(), 9_900));
	}

	/**
	 * Return the number of loads of a product since the last reset.
	 * @param sku the SKU of the product
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
	 * Product of the shop.
	 *
	 * @param sku the SKU
	 * @param name the name
	 * @param cents the price in cents
	 */
	record Product(String sku, String name, int cents) {
	}

}
