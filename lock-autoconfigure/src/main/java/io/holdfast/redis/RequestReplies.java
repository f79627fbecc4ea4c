package io.holdfast.redis;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.redis.driver.ScriptReply;
import io.holdfast.redis.key.RedisStoreOptions;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Reads the replies to requests, and warns of troubles in them. Thread-safe.
 */
final class RequestReplies {

	private static final Log logger = LogFactory.getLog(RequestReplies.class);

	private static final int KEYS_WARNED_OF = 1000;

	private final RedisStoreOptions options;

	/** By System.nanoTime(), 0 at first. Guarded by this. */
	private long graceWarnedUntil;

	/** The keys that were warned of; the others are forgotten when there are too many. */
	private final Set<String> keysWithoutExpiry = ConcurrentHashMap.newKeySet();

	RequestReplies(RedisStoreOptions options) {
		this.options = options;
	}

	/**
	 * Return the outcome for a token that asks. Warns, once per key, of a key without
	 * expiry.
	 * @param from where in the reply this begins: 1 if it was granted, 0 if not, or -1 if
	 * it never can be
	 * @param end where it ends
	 */
	AcquireReply read(Resource resource, ScriptReply reply, int from, int end) {
		long outcome = reply.number(from);
		if (outcome == 1) {
			return new AcquireReply.Granted(reply.number(from + 1), reply.number(from + 2));
		}
		if (outcome == -1) {
			return new AcquireReply.Rejected(reply.count(from + 1));
		}
		long ttl = reply.number(from + 1);
		if (ttl == -1) {
			warnOfMissingExpiry(this.options.keyOf(resource));
		}
		warnOfGrace(reply.number(from + 4));
		String owner = reply.text(from + 5);
		return new AcquireReply.Busy(ttl, reply.number(from + 2), reply.flag(from + 3), owner.isEmpty() ? null : owner,
				(end > from + 6) ? reply.count(from + 6) : 0, (end > from + 7) ? reply.count(from + 7) : 0);
	}

	private void warnOfMissingExpiry(String key) {
		if (this.keysWithoutExpiry.add(key)) {
			if (this.keysWithoutExpiry.size() > KEYS_WARNED_OF) {
				this.keysWithoutExpiry.retainAll(Set.of(key));
			}
			logger.warn("The lock key '" + SingleLine.of(key)
					+ "' has no expiry, so it stays locked until it is deleted; set"
					+ " holdfast.lock.heal-missing-ttl to give such keys one");
		}
	}

	private void warnOfGrace(long millis) {
		if (millis == 0) {
			return;
		}
		synchronized (this) {
			long now = System.nanoTime();
			if (this.graceWarnedUntil != 0 && now - this.graceWarnedUntil < 0) {
				return;
			}
			this.graceWarnedUntil = now + TimeUnit.MILLISECONDS.toNanos(millis);
		}
		logger.warn(
				"Redis was restarted, or another server took over: for " + millis + " ms nothing new is granted, while"
						+ " holders write their leases there again (holdfast.redis.fail-over-grace)");
	}

}
