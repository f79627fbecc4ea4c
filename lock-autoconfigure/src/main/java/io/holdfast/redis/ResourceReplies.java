package io.holdfast.redis;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.driver.ScriptReply;
import io.holdfast.redis.key.RedisStoreOptions;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Reads the replies of scripts for locks and semaphores, and warns of troubles in those
 * to requests. A holder that was written by another program, or damaged, is none of an
 * instance; in a queue it is left out. Thread-safe.
 */
final class ResourceReplies {

	private static final Log logger = LogFactory.getLog(ResourceReplies.class);

	private static final int KEYS_WARNED_OF = 1000;

	/** The token, of permits how many, and a part for the scripts only. */
	private static final Pattern PERMITS = Pattern.compile("([0-9a-f]{32}:[0-9]{1,18}):([0-9]{1,18})(:.*)?");

	/** The token of a reader, or of one that waits, with its claim and mode. */
	private static final Pattern LOCK = Pattern.compile("([0-9a-f]{32}:[0-9]{1,18}):(?:[0-9]{1,18}:)?(r?)[sp]?");

	private final RedisStoreOptions options;

	/** By System.nanoTime(), 0 at first. Guarded by this. */
	private long graceWarnedUntil;

	/** The keys that were warned of; the others are forgotten when there are too many. */
	private final Set<String> keysWithoutExpiry = ConcurrentHashMap.newKeySet();

	ResourceReplies(RedisStoreOptions options) {
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

	/** Reads the reply to a look at a lock or semaphore. */
	static Standing standing(Resource resource, ScriptReply reply) {
		Kind kind = resource.kind();
		int named = reply.count(8);
		List<TokenState> holders = !reply.isNull(0)
				? List.of(new TokenState(reply.text(0), Resource.ALL, reply.number(1)))
				: IntStream.range(0, named)
					.mapToObj((i) -> state(reply.text(9 + 2 * i), kind, reply.number(10 + 2 * i)))
					.toList();
		List<TokenState> queue = reply.texts(9 + 2 * named)
			.stream()
			.map((entry) -> state(entry, kind, 0))
			.filter((waiter) -> !waiter.token().isEmpty())
			.toList();
		return new Standing(resource, reply.number(1), reply.number(2), reply.isNull(3) ? null : reply.count(3),
				reply.count(4), reply.count(5), reply.count(6), holders, reply.count(7), queue);
	}

	/** Reads an entry of a holder, or of a queue. */
	private static TokenState state(String entry, Kind kind, long ttlMillis) {
		Matcher matcher = ((kind == Kind.LOCK) ? LOCK : PERMITS).matcher(entry);
		if (matcher.matches()) {
			long permits = (kind == Kind.SEMAPHORE) ? Long.parseLong(matcher.group(2))
					: matcher.group(2).isEmpty() ? Resource.ALL : 1;
			if (permits <= Resource.ALL) {
				return new TokenState(matcher.group(1), (int) permits, ttlMillis);
			}
		}
		return new TokenState("", 0, ttlMillis);
	}

}
