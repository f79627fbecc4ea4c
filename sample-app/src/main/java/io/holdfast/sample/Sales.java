package io.holdfast.sample;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.SaleResult.Round;
import io.holdfast.sample.SaleResult.Served;
import io.holdfast.sample.Shop.Purchase;
import jakarta.annotation.PreDestroy;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.core.env.Environment;
import org.springframework.data.redis.annotation.RedisListener;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/**
 * Holds sales over all running instances. The instance that is asked announces the sale
 * on a channel; Redis answers how many instances heard it, and the buyers are dealt out
 * to them in equal shares. Each instance takes one share from a list, serves its buyers
 * all at once, and puts what happened into a list of results.
 */
@Service
class Sales {

	private static final Log logger = LogFactory.getLog(Sales.class);

	private static final String CHANNEL = "shop:sales";

	/** More than the longest wait for a lock, so that slow is not taken for dead. */
	private static final Duration PATIENCE = Duration.ofSeconds(45);

	private final Shop shop;

	private final LockService locks;

	private final StringRedisTemplate redis;

	private final JsonMapper json;

	private final Environment environment;

	private final ExecutorService buyers = Executors.newCachedThreadPool();

	Sales(Shop shop, LockService locks, StringRedisTemplate redis, JsonMapper json, Environment environment) {
		this.shop = shop;
		this.locks = locks;
		this.redis = redis;
		this.json = json;
		this.environment = environment;
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
		try (LockLease sale = this.locks.tryAcquire("sale:" + sku).orElseThrow(() -> alreadySelling(sku))) {
			Round without = round(sku, stock, buyers, false);
			Round with = round(sku, stock, buyers, true);
			// Lost, another sale of this SKU may have changed the stock meanwhile.
			sale.ensureHeld();
			return new SaleResult(sku, stock, buyers, without, with);
		}
	}

	private Round round(String sku, int stock, int buyers, boolean locked) {
		Announcement round = new Announcement(UUID.randomUUID().toString(), sku, locked);
		this.shop.setStock(sku, stock);
		long begun = System.nanoTime();
		Long heard = this.redis.convertAndSend(CHANNEL, this.json.writeValueAsString(round));
		if (heard == null || heard == 0) {
			throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE,
					"No instance listens for sales yet: try again");
		}
		int shares = heard.intValue();
		for (int i = 0; i < shares; i++) {
			int share = buyers / shares + ((i < buyers % shares) ? 1 : 0);
			push(round.shares(), Integer.toString(share));
		}
		List<Served> parts = new ArrayList<>();
		while (parts.size() < shares) {
			String part = this.redis.opsForList().leftPop(round.results(), PATIENCE);
			if (part == null) {
				throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE, (shares - parts.size()) + " of "
						+ shares + " instances did not report their part of the sale. Were they stopped?");
			}
			parts.add(this.json.readValue(part, Served.class));
		}
		return Round.of(stock, locked, millisSince(begun), parts);
	}

	/**
	 * Take a share of a sale that some instance announced, perhaps this one.
	 * @param announcement the announced round, as JSON
	 * @throws InterruptedException if this instance stops meanwhile
	 */
	@RedisListener(CHANNEL)
	void takePart(String announcement) throws InterruptedException {
		Announcement round = this.json.readValue(announcement, Announcement.class);
		String share = this.redis.opsForList().leftPop(round.shares(), PATIENCE);
		if (share != null) {
			Served served = serve(round, Integer.parseInt(share));
			push(round.results(), this.json.writeValueAsString(served));
		}
	}

	private Served serve(Announcement round, int share) throws InterruptedException {
		List<Future<Bought>> purchases = this.buyers.invokeAll(Collections.nCopies(share, () -> buy(round)));
		List<Bought> bought = new ArrayList<>();
		Throwable failure = null;
		for (Future<Bought> purchase : purchases) {
			try {
				bought.add(purchase.get());
			}
			catch (ExecutionException ex) {
				failure = ex.getCause();
			}
		}
		if (failure != null) {
			logger.warn((share - bought.size()) + " purchases of " + round.sku() + " failed, the last one so:",
					failure);
		}
		int sold = (int) bought.stream().filter(Bought::sold).count();
		return new Served(this.environment.getRequiredProperty("local.server.port"), share, sold, share - bought.size(),
				bought.stream().mapToLong(Bought::waitMillis).toArray());
	}

	private Bought buy(Announcement round) throws InterruptedException {
		long called = System.nanoTime();
		Purchase purchase = round.locked() ? this.shop.buyLocked(round.sku()) : this.shop.buy(round.sku());
		return new Bought(purchase.sold(), Duration.ofNanos(purchase.begun() - called).toMillis());
	}

	private void push(String list, String element) {
		this.redis.opsForList().rightPush(list, element);
		this.redis.expire(list, PATIENCE.multipliedBy(2));
	}

	@PreDestroy
	void stop() {
		this.buyers.shutdownNow();
	}

	private static long millisSince(long begun) {
		return Duration.ofNanos(System.nanoTime() - begun).toMillis();
	}

	private static ResponseStatusException alreadySelling(String sku) {
		return new ResponseStatusException(HttpStatus.CONFLICT,
				sku + " is being sold already: wait for that sale to end, or sell another SKU");
	}

	/**
	 * A round of a sale, as it is told to all instances.
	 *
	 * @param id distinguishes the round from all others
	 * @param sku what is sold
	 * @param locked whether purchases take the lock
	 */
	record Announcement(String id, String sku, boolean locked) {

		String shares() {
			return CHANNEL + ":" + this.id + ":shares";
		}

		String results() {
			return CHANNEL + ":" + this.id + ":results";
		}

	}

	private record Bought(boolean sold, long waitMillis) {
	}

}
