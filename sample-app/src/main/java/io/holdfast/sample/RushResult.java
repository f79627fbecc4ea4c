package io.holdfast.sample;

/**
 * Results of the same rush for a product that is not in the cache, without and with the
 * lock.
 *
 * @param sku the SKU of the product
 * @param readers the number of readers in each round
 * @param withoutLock the round without the lock
 * @param withLock the round with the lock
 */
record RushResult(String sku, int readers, Round withoutLock, Round withLock) {

	/**
	 * Result of a round.
	 *
	 * @param loads the number of loads from the database
	 * @param reads the outcome of the readers. Their waits end with the product
	 */
	record Round(int loads, Outcome reads) {
	}

}
