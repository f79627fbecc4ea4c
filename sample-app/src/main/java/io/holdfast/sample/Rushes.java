package io.holdfast.sample;

import io.holdfast.sample.Fleet.Reply;
import io.holdfast.sample.RushResult.Round;

import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/**
 * Rushes, in which readers at all running instances want the same product at the same
 * time, immediately after its expiry from the cache.
 */
@Service
class Rushes {

	private static final String KIND = "rush";

	private final ProductCache cache;

	private final ProductDatabase database;

	private final Fleet fleet;

	Rushes(ProductCache cache, ProductDatabase database, Fleet fleet) {
		this.cache = cache;
		this.database = database;
		this.fleet = fleet;
		fleet.takePart(KIND, this::read);
	}

	/**
	 * Run the same rush twice, without and with the lock.
	 * @param sku the SKU of the product
	 * @param readers the number of readers
	 * @return the result
	 * @throws ResponseStatusException if there is a rush for this SKU already, at any
	 * instance
	 */
	RushResult run(String sku, int readers) {
		return this.fleet.alone("rush:" + sku,
				"There is a rush for " + sku + " already: wait for it to end, or name another SKU",
				() -> new RushResult(sku, readers, round(sku, readers, false), round(sku, readers, true)));
	}

	private Round round(String sku, int readers, boolean locked) {
		this.cache.drop(sku);
		this.database.resetLoads(sku);
		Outcome reads = this.fleet.round(KIND, sku, locked, readers);
		return new Round(this.database.loads(sku), reads);
	}

	/** Read a product. Only a reader without a product in the cache takes the lock. */
	Reply read(String sku, boolean locked) throws InterruptedException {
		if (this.cache.find(sku) == null) {
			if (locked) {
				this.cache.loadOnce(sku);
			}
			else {
				this.cache.load(sku);
			}
		}
		return new Reply(true, System.nanoTime());
	}

}
