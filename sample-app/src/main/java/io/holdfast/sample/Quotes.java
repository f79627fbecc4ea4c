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
 * Has all running instances ask the carrier for quotes at once, and lets an operator
 * change how many calls it gets at a time.
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
	 * Ask for the same number of quotes twice, without and with the semaphore.
	 * @param orders for how many orders
	 * @return what happened
	 * @throws ResponseStatusException if quotes are being asked for already, by whichever
	 * instance
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
	 * Tell the limit and how much of it is used.
	 * @return the limit now
	 */
	Limit limit() {
		SemaphoreStatus status = this.semaphores.status(CarrierClient.SEMAPHORE);
		// Unless an operator has set one, the semaphore has a limit only while it is
		// used.
		int limit = (status.limit() != null) ? status.limit() : this.configuredLimit;
		return new Limit(limit, status.limitSet(), status.used(), Math.max(0, limit - status.used()), status.waiting());
	}

	/**
	 * Set the limit as an operator, for all instances, until it is cleared.
	 * @param limit how many calls there may be at a time, 0 for none
	 * @return the limit now
	 */
	Limit setLimit(int limit) {
		this.semaphores.admin().setLimit(CarrierClient.SEMAPHORE, limit);
		return limit();
	}

	/**
	 * Let the limit be what is configured again.
	 * @return the limit now
	 */
	Limit clearLimit() {
		this.semaphores.admin().clearLimit(CarrierClient.SEMAPHORE);
		return limit();
	}

}
