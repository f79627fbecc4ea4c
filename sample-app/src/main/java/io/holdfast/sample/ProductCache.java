package io.holdfast.sample;

import java.time.Duration;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.sample.ProductDatabase.Product;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/**
 * Keeps products in Redis for a while, for all instances.
 */
@Component
class ProductCache {

	private static final Duration KEPT = Duration.ofMinutes(10);

	private final ProductDatabase database;

	private final StringRedisTemplate redis;

	private final JsonMapper json;

	ProductCache(ProductDatabase database, StringRedisTemplate redis, JsonMapper json) {
		this.database = database;
		this.redis = redis;
		this.json = json;
	}

	/**
	 * Look into the cache.
	 * @param sku which product
	 * @return the product, or {@code null} if it is not in the cache
	 */
	public @Nullable Product find(String sku) {
		String text = this.redis.opsForValue().get(key(sku));
		return (text != null) ? this.json.readValue(text, Product.class) : null;
	}

	/**
	 * Load a product into the cache, one caller at a time over all instances. A caller
	 * that had to wait for the lock finds what another one has loaded.
	 * @param sku which product
	 * @return the product
	 * @throws InterruptedException if interrupted while loading
	 */
	@DistributedLock(key = "'product:' + #sku", waitTime = "30s")
	public Product loadOnce(String sku) throws InterruptedException {
		Product loaded = find(sku);
		return (loaded != null) ? loaded : load(sku);
	}

	/**
	 * Load a product into the cache, even if others are loading it already.
	 * @param sku which product
	 * @return the product
	 * @throws InterruptedException if interrupted while loading
	 */
	public Product load(String sku) throws InterruptedException {
		Product product = this.database.load(sku);
		this.redis.opsForValue().set(key(sku), this.json.writeValueAsString(product), KEPT);
		return product;
	}

	/**
	 * Remove a product from the cache.
	 * @param sku which product
	 */
	public void drop(String sku) {
		this.redis.delete(key(sku));
	}

	private static String key(String sku) {
		return "shop:product:" + sku;
	}

}
