package io.holdfast.sample;

import io.holdfast.sample.Fleet.Reply;
import io.holdfast.sample.SaleResult.Round;
import io.holdfast.sample.Shop.Purchase;
import org.jspecify.annotations.Nullable;

import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/** Sales, whose buyers are divided among all running instances. */
@Service
class Sales {

	private static final String KIND = "sale";

	private final Shop shop;

	private final Fleet fleet;

	Sales(Shop shop, Fleet fleet) {
		this.shop = shop;
		this.fleet = fleet;
		fleet.takePart(KIND, this::buy);
	}

	/**
	 * Hold the same sale twice, without and with the lock; or one of these rounds.
	 * @param sku the SKU to sell
	 * @param stock the number of pieces
	 * @param buyers the number of buyers
	 * @param locked whether to hold only the round with the lock or only the round
	 * without, {@code null} for both
	 * @return the result
	 * @throws ResponseStatusException if this SKU is being sold already, at any instance
	 */
	SaleResult hold(String sku, int stock, int buyers, @Nullable Boolean locked) {
		return this.fleet.alone("sale:" + sku,
				sku + " is being sold already: wait for that sale to end, or sell another SKU",
				() -> new SaleResult(sku, stock, buyers,
						Boolean.TRUE.equals(locked) ? null : round(sku, stock, buyers, false),
						Boolean.FALSE.equals(locked) ? null : round(sku, stock, buyers, true)));
	}

	/**
	 * Return the stock of a SKU, also during a sale.
	 * @param sku the SKU
	 * @return the stock
	 */
	Stock stock(String sku) {
		return new Stock(sku, this.shop.stock(sku));
	}

	private Round round(String sku, int stock, int buyers, boolean locked) {
		this.shop.setStock(sku, stock);
		return Round.of(stock, locked, this.fleet.round(KIND, sku, locked, buyers));
	}

	private Reply buy(String sku, boolean locked) throws InterruptedException {
		Purchase purchase = locked ? this.shop.buyLocked(sku) : this.shop.buy(sku);
		return new Reply(purchase.sold(), purchase.begun());
	}

	/**
	 * Stock of a SKU.
	 *
	 * @param sku the SKU
	 * @param left the number of pieces left, or {@code null} if the SKU is not on sale
	 */
	record Stock(String sku, @Nullable Integer left) {
	}

}
