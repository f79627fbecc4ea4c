package io.holdfast.sample;

import java.util.UUID;

import io.holdfast.SemaphoreService;
import io.holdfast.SemaphoreStatus;
import io.holdfast.sample.CarrierClient.Quote;
import io.holdfast.sample.Fleet.Reply;
import io.holdfast.sample.QuotesResult.Limit;
import io.holdfast.sample.QuotesResult.Round;

import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/**
 * Rounds of quotes, in which all running instances call the carrier at the same time.
 * Operators can change the limit of simultaneous calls.
 */
@Service
class Quotes {

	private static final String KIND = "round of quotes";

	private final CarrierClient client;

	private final Carrier carrier;

	private final SemaphoreService semaphores;

	private final Fleet fleet;

	private final int configuredLimit;

	Quotes(CarrierClient client, Carrier carrier, SemaphoreService semaphores, Fleet fleet, ShopProperties properties) {
		this.client = client;
		this.carrier = carrier;
		this.semaphores = semaphores;
		this.fleet = fleet;
		this.configuredLimit = properties.quoteLimit();
		fleet.takePart(KIND, this::quote);
	}

	/**
	 * Request the same number of quotes twice, without and with the semaphore.
	 * @param orders the number of orders
	 * @return the result
	 * @throws ResponseStatusException if a round of quotes is running, at any instance
	 */
	QuotesResult ask(int orders) {
		return this.fleet.alone("quotes", "Quotes are being asked for already: wait for that to end", () -> {
			Round without = round(orders, false);
			int limit = limit().limit();
			return new QuotesResult(orders, limit, without, round(orders, true));
		});
	}

	private Round round(int orders, boolean limited) {
		this.carrier.forget();
		Outcome calls = this.fleet.round(KIND, "the carrier", limited, orders);
		return new Round(this.carrier.highest(), calls);
	}

	private Reply quote(String subject, boolean limited) throws InterruptedException {
		String order = UUID.randomUUID().toString();
		Quote quote = limited ? this.client.quoteInTurn(order) : this.client.quote(order);
		return new Reply(true, quote.begun());
	}

	/**
	 * Return the limit and its use.
	 * @return the current limit
	 */
	Limit limit() {
		SemaphoreStatus status = this.semaphores.status(CarrierClient.SEMAPHORE);
		// Without an operator's limit, only a semaphore in use has a limit.
		int limit = (status.limit() != null) ? status.limit() : this.configuredLimit;
		return new Limit(limit, status.limitSet(), status.used(), Math.max(0, limit - status.used()), status.waiting());
	}

	/**
	 * Set the operator's limit, for all instances, until {@link #clearLimit()}.
	 * @param limit the maximum number of simultaneous calls, 0 for none
	 * @return the current limit
	 */
	Limit setLimit(int limit) {
		this.semaphores.admin().setLimit(CarrierClient.SEMAPHORE, limit);
		return limit();
	}

	/**
	 * Clear the operator's limit, so that the configured limit applies again.
	 * @return the current limit
	 */
	Limit clearLimit() {
		this.semaphores.admin().clearLimit(CarrierClient.SEMAPHORE);
		return limit();
	}

}
