package io.holdfast.sample;

import io.holdfast.sample.Fleet.Reply;
import io.holdfast.sample.SaleResult.Round;
import io.holdfast.sample.Shop.Purchase;
import org.jspecify.annotations.Nullable;

import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/**
 * Holds sales, whose buyers are dealt out to all running instances.
 */
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
	 * Hold the same sale twice, without and with the lock; or one of them.
	 * @param sku what to sell
	 * @param stock how many pieces there are
	 * @param buyers how many buyers want one
	 * @param locked whether with the lock only or without only, {@code null} for both
	 * @return what happened
	 * @throws ResponseStatusException if this SKU is being sold already, by whichever
	 * instance
	 */
	SaleResult hold(String sku, int stock, int buyers, @Nullable Boolean locked) {
		return this.fleet.alone("sale:" + sku,
				sku + " is being sold already: wait for that sale to end, or sell another SKU",
				() -> new SaleResult(sku, stock, buyers,
						Boolean.TRUE.equals(locked) ? null : round(sku, stock, buyers, false),
						Boolean.FALSE.equals(locked) ? null : round(sku, stock, buyers, true)));
	}

	/**
	 * Tell how much of a SKU is left, also while it is sold.
	 * @param sku which one
	 * @return its stock
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
	 * A stock.
	 *
	 * @param sku of what
	 * @param left how many pieces are left, {@code null} if it was not on sale of late
	 */
	record Stock(String sku, @Nullable Integer left) {
	}

}
