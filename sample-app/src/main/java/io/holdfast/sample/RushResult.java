package io.holdfast.sample;

/**
 * The same rush for a product that is not in the cache, without and with the lock.
 *
 * @param sku which product was wanted
 * @param readers how many wanted it, each time
 * @param withoutLock how it went without the lock
 * @param withLock how it went with the lock
 */
record RushResult(String sku, int readers, Round withoutLock, Round withLock) {

	/**
	 * The result of one round.
	 *
	 * @param loads how often the database was asked for the product
	 * @param reads how the readers fared, who waited until they had the product
	 */
	record Round(int loads, Outcome reads) {
	}

}
