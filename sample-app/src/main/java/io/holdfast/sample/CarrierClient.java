package io.holdfast.sample;

import io.holdfast.annotation.Semaphore;

import org.springframework.stereotype.Component;

/**
 * Calls the {@link Carrier}, which allows the shop so many calls at a time, whatever the
 * number of its instances.
 */
@Component
class CarrierClient {

	/** The semaphore of those calls, also for operators. */
	static final String SEMAPHORE = "carrier";

	private final Carrier carrier;

	CarrierClient(Carrier carrier) {
		this.carrier = carrier;
	}

	/**
	 * Ask for a quote while holding one of the permits that all instances share.
	 * @param order the order to deliver
	 * @return the quote
	 * @throws InterruptedException if interrupted while the carrier is asked
	 */
	@Semaphore(name = SEMAPHORE, limitString = "${shop.quote-limit}", waitTime = "30s")
	public Quote quoteInTurn(String order) throws InterruptedException {
		return quote(order);
	}

	/**
	 * Ask for a quote without a permit.
	 * @param order the order to deliver
	 * @return the quote
	 * @throws InterruptedException if interrupted while the carrier is asked
	 */
	public Quote quote(String order) throws InterruptedException {
		long begun = System.nanoTime();
		return new Quote(this.carrier.quote(order), begun);
	}

	/**
	 * A quote.
	 *
	 * @param cents what the carrier asks for
	 * @param begun when the carrier was called, after any wait for a permit, by
	 * {@link System#nanoTime}
	 */
	record Quote(int cents, long begun) {
	}

}
