package io.holdfast.sample;

/**
 * The same number of calls of the carrier, without and with the semaphore.
 *
 * @param orders how many calls there were, each time
 * @param limit how many were allowed at a time when the round with the semaphore began
 * @param withoutSemaphore how it went without the semaphore
 * @param withSemaphore how it went with the semaphore
 */
record QuotesResult(int orders, int limit, Round withoutSemaphore, Round withSemaphore) {

	/**
	 * The result of one round.
	 *
	 * @param highest how many calls the carrier saw at the same time at most
	 * @param calls how the calls fared, which waited until the carrier was called
	 */
	record Round(int highest, Outcome calls) {
	}

	/**
	 * The number of calls that the carrier gets at a time.
	 *
	 * @param limit how many are allowed
	 * @param setByOperator whether an operator said so, or it is what is configured
	 * @param used how many there are right now; more than the limit if that was lowered
	 * @param free how many more there may be
	 * @param waiting how many calls stand in the semaphore's queue; those that wait
	 * inside an instance for their turn to stand there are not among them
	 */
	record Limit(int limit, boolean setByOperator, int used, int free, int waiting) {
	}

}
