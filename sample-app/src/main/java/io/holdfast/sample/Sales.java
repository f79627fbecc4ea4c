package io.holdfast.sample;

import io.holdfast.sample.Fleet.Reply;
import io.holdfast.sample.SaleResult.Round;
import io.holdfast.sample.Shop.Purchase;

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
	 * Hold the same sale twice, without and with the lock.
	 * @param sku what to sell
	 * @param stock how many pieces there are
	 * @param buyers how many buyers want one
	 * @return what happened
	 * @throws ResponseStatusException if this SKU is being sold already, by whichever
	 * instance
	 */
	SaleResult hold(String sku, int stock, int buyers) {
		return this.fleet.alone("sale:" + sku,
				sku + " is being sold already: wait for that sale to end, or sell another SKU",
				() -> new SaleResult(sku, stock, buyers, round(sku, stock, buyers, false),
						round(sku, stock, buyers, true)));
	}

	private Round round(String sku, int stock, int buyers, boolean locked) {
		this.shop.setStock(sku, stock);
		return Round.of(stock, locked, this.fleet.round(KIND, sku, locked, buyers));
	}

	private Reply buy(String sku, boolean locked) throws InterruptedException {
		Purchase purchase = locked ? this.shop.buyLocked(sku) : this.shop.buy(sku);
		return new Reply(purchase.sold(), purchase.begun());
	}

}
