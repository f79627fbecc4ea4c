package io.holdfast.sample;

import java.time.Duration;
import java.util.Objects;

import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/**
 * Sells pieces from a stock in a database. A purchase reads the stock, thinks, and writes
 * it back less one; on purpose, because two purchases that read the same number sell the
 * same piece. The lock keeps them apart.
 */
@Service
class Shop {

	private final JdbcClient database;

	private final Duration thinkTime;

	Shop(JdbcClient database, ShopProperties properties) {
		this.database = database;
		this.thinkTime = properties.thinkTime();
	}

	/**
	 * Buy one piece while holding the lock of this SKU, over all instances.
	 * @param sku what to buy
	 * @return the purchase
	 * @throws InterruptedException if interrupted while thinking
	 */
	@DistributedLock(key = "'stock:' + #sku", waitTime = "30s", fenced = true)
	@Transactional
	public Purchase buyLocked(String sku) throws InterruptedException {
		return buy(sku);
	}

	/**
	 * Buy one piece without a lock.
	 * @param sku what to buy
	 * @return the purchase
	 * @throws InterruptedException if interrupted while thinking
	 */
	@Transactional
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
		return this.database.sql("SELECT pieces FROM stock WHERE sku = ?")
			.param(sku)
			.query(Integer.class)
			.optional()
			.orElse(null);
	}

	void setStock(String sku, int pieces) {
		this.database.sql("MERGE INTO stock (sku, pieces) VALUES (?, ?)").params(sku, pieces).update();
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
