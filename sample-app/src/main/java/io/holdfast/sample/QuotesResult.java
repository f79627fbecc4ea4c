package io.holdfast.sample;

/**
 * Results of the same number of calls to the carrier, without and with the semaphore.
 *
 * @param orders the number of calls in each round
 * @param limit the limit of simultaneous calls at the beginning of the round with the
 * semaphore
 * @param withoutSemaphore the round without the semaphore
 * @param withSemaphore the round with the semaphore
 */
record QuotesResult(int orders, int limit, Round withoutSemaphore, Round withSemaphore) {

	/**
	 * Result of a round.
	 *
	 * @param highest the highest number of simultaneous calls at the carrier
	 * @param calls the outcome of the calls. Their waits end at the call to the carrier
	 */
	record Round(int highest, Outcome calls) {
	}

	/**
	 * Limit of simultaneous calls to the carrier.
	 *
	 * @param limit the limit
	 * @param setByOperator whether the limit is the operator's limit, not the configured
	 * limit
	 * @param used the number of current calls, more than the limit after a lowering
	 * @param free the number of further calls within the limit
	 * @param waiting the length of the semaphore's queue. Calls that wait inside an
	 * instance for a place in this queue do not count
	 */
	record Limit(int limit, boolean setByOperator, int used, int free, int waiting) {
	}

}
