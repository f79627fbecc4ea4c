package io.holdfast.sample;

import java.time.Duration;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.sample.ProductDatabase.Product;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/** Cache of products in Redis, for all instances. Products expire after some minutes. */
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
	 * Return a product from the cache.
	 * @param sku the SKU of the product
	 * @return the product, or {@code null} for a product that is not in the cache
	 */
	public @Nullable Product find(String sku) {
		String text = this.redis.opsForValue().get(key(sku));
		return (text != null) ? this.json.readValue(text, Product.class) : null;
	}

	/**
	 * Load a product into the cache, by one caller at a time over all instances. A caller
	 * that waited for the lock finds the product that another caller has loaded.
	 * @param sku the SKU of the product
	 * @return the product
	 * @throws InterruptedException if interrupted during the load
	 */
	@DistributedLock(key = "'product:' + #sku", waitTime = "30s")
	public Product loadOnce(String sku) throws InterruptedException {
		Product loaded = find(sku);
		return (loaded != null) ? loaded : load(sku);
	}

	/**
	 * Load a product into the cache, even if other callers load the product at the same
	 * time.
	 * @param sku the SKU of the product
	 * @return the product
	 * @throws InterruptedException if interrupted during the load
	 */
	public Product load(String sku) throws InterruptedException {
		Product product = this.database.load(sku);
		this.redis.opsForValue().set(key(sku), this.json.writeValueAsString(product), KEPT);
		return product;
	}

	/**
	 * Remove a product from the cache.
	 * @param sku the SKU of the product
	 */
	public void drop(String sku) {
		this.redis.delete(key(sku));
	}

	private static String key(String sku) {
		return "shop:product:" + sku;
	}

}
