package io.holdfast.sample;

import java.time.Duration;
import java.util.Objects;

import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Service;

/**
 * Sells pieces from a stock that is a plain number in Redis. A purchase reads the number,
 * thinks, and writes it back less one; on purpose, because two purchases that read the
 * same number sell the same piece. The lock is what keeps them apart.
 */
@Service
class Shop {

	private static final Duration STOCK_KEPT = Duration.ofHours(1);

	private final StringRedisTemplate redis;

	private final Duration thinkTime;

	Shop(StringRedisTemplate redis, ShopProperties properties) {
		this.redis = redis;
		this.thinkTime = properties.thinkTime();
	}

	/**
	 * Buy one piece while holding the lock of this SKU, over all instances.
	 * @param sku what to buy
	 * @return the purchase
	 * @throws InterruptedException if interrupted while thinking
	 */
	@DistributedLock(key = "'stock:' + #sku", waitTime = "30s")
	public Purchase buyLocked(String sku) throws InterruptedException {
		return buy(sku);
	}

	/**
	 * Buy one piece without a lock.
	 * @param sku what to buy
	 * @return the purchase
	 * @throws InterruptedException if interrupted while thinking
	 */
	public Purchase buy(String sku) throws InterruptedException {
		long begun = System.nanoTime();
		int left = Objects.requireNonNull(stock(sku), () -> sku + " is not on sale");
		if (left == 0) {
			return new Purchase(false, begun);
		}
		Thread.sleep(this.thinkTime.toMillis());
		setStock(sku, left - 1);
		return new Purchase(true, begun);
	}

	/**
	 * Read how many pieces are left.
	 * @param sku of what
	 * @return how many, or {@code null} if it is not on sale
	 */
	@Nullable Integer stock(String sku) {
		String text = this.redis.opsForValue().get(stockKey(sku));
		return (text != null) ? Integer.valueOf(text) : null;
	}

	void setStock(String sku, int pieces) {
		this.redis.opsForValue().set(stockKey(sku), Integer.toString(pieces), STOCK_KEPT);
	}

	private static String stockKey(String sku) {
		return "shop:stock:" + sku;
	}

	/**
	 * The result of a purchase.
	 *
	 * @param sold whether a piece was sold, or none was left
	 * @param begun when it began, after any wait for the lock, by {@link System#nanoTime}
	 */
	record Purchase(boolean sold, long begun) {
	}

}
