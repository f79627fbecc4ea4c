package io.holdfast.sample;

import java.time.Duration;
import java.util.Objects;

import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/**
 * Sale of pieces from a stock in a database. A purchase reads the stock, thinks, and
 * writes the stock less one. Without a lock, this is wrong on purpose: two purchases that
 * read the same stock sell the same piece.
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
	 * Buy a piece with the lock of this SKU, over all instances.
	 * @param sku the SKU to buy
	 * @return the purchase
	 * @throws InterruptedException if interrupted while thinking
	 */
	@DistributedLock(key = "'stock:' + #sku", waitTime = "30s", fenced = true)
	@Transactional
	public Purchase buyLocked(String sku) throws InterruptedException {
		return buy(sku);
	}

	/**
	 * Buy a piece without a lock.
	 * @param sku the SKU to buy
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
	 * Return the number of pieces left.
	 * @param sku the SKU
	 * @return the number, or {@code null} if the SKU is not on sale
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
	 * Result of a purchase.
	 *
	 * @param sold whether a piece was sold; otherwise, none was left
	 * @param begun the beginning of the purchase, after any wait for the lock, by
	 * {@link System#nanoTime}
	 */
	record Purchase(boolean sold, long begun) {
	}

}
