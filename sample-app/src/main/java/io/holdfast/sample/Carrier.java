package io.holdfast.sample;

import java.time.Duration;
import java.util.List;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.stereotype.Component;

/**
 * Simulation of a carrier outside of the shop, which quotes prices of deliveries. A call
 * takes some time. Redis has the current calls of all instances, and their highest
 * number.
 */
@Component
class Carrier {

	private static final String CALLS = "shop:{carrier}:calls";

	private static final String HIGHEST = "shop:{carrier}:highest";

	private static final Duration KEPT = Duration.ofHours(1);

	/** A script, so that every number of calls is noticed. */
	private static final RedisScript<Long> BEGIN = RedisScript.of("""
			redis.call('SADD', KEYS[1], ARGV[1])
			redis.call('EXPIRE', KEYS[1], ARGV[2])
			local calls = redis.call('SCARD', KEYS[1])
			if calls > tonumber(redis.call('GET', KEYS[2]) or 0) then
				redis.call('SET', KEYS[2], calls, 'EX', ARGV[2])
			end
			return calls
			""", Long.class);

	private final StringRedisTemplate redis;

	private final Duration quoteTime;

	Carrier(StringRedisTemplate redis, ShopProperties properties) {
		this.redis = redis;
		this.quoteTime = properties.quoteTime();
	}

	/**
	 * Quote the price of a delivery.
	 * @param order the order to deliver, in one call at a time
	 * @return the price in cents
	 * @throws InterruptedException if interrupted before the answer
	 */
	int quote(String order) throws InterruptedException {
		this.redis.execute(BEGIN, List.of(CALLS, HIGHEST), order, Long.toString(KEPT.toSeconds()));
		try {
			Thread.sleep(this.quoteTime.toMillis());
			return 500 + Math.floorMod(order.hashCode(), 1_000);
		}
		finally {
			this.redis.opsForSet().remove(CALLS, order);
		}
	}

	/**
	 * Return the highest number of simultaneous calls since {@link #forget()}.
	 * @return the number of calls, by all instances
	 */
	int highest() {
		String highest = this.redis.opsForValue().get(HIGHEST);
		return (highest != null) ? Integer.parseInt(highest) : 0;
	}

	/** Forget the highest number, and the calls of dead instances. */
	void forget() {
		this.redis.delete(List.of(CALLS, HIGHEST));
	}

}
