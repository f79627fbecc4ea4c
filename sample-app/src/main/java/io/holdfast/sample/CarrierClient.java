package io.holdfast.sample;

import io.holdfast.annotation.Semaphore;

import org.springframework.stereotype.Component;

/**
 * Client of the {@link Carrier}, which limits the number of simultaneous calls of all
 * instances together.
 */
@Component
class CarrierClient {

	/** Semaphore of the calls, also for operators. */
	static final String SEMAPHORE = "carrier";

	private final Carrier carrier;

	CarrierClient(Carrier carrier) {
		this.carrier = carrier;
	}

	/**
	 * Request a quote with a permit of the semaphore of all instances.
	 * @param order the order to deliver
	 * @return the quote
	 * @throws InterruptedException if interrupted during the call
	 */
	@Semaphore(name = SEMAPHORE, limitString = "${shop.quote-limit}", waitTime = "30s")
	public Quote quoteInTurn(String order) throws InterruptedException {
		return quote(order);
	}

	/**
	 * Request a quote without a permit.
	 * @param order the order to deliver
	 * @return the quote
	 * @throws InterruptedException if interrupted during the call
	 */
	public Quote quote(String order) throws InterruptedException {
		long begun = System.nanoTime();
		return new Quote(this.carrier.quote(order), begun);
	}

	/**
	 * Quote of the carrier.
	 *
	 * @param cents the price in cents
	 * @param begun the beginning of the call, after any wait for a permit, by
	 * {@link System#nanoTime}
	 */
	record Quote(int cents, long begun) {
	}

}
