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
 * Reader of the scripts' replies for locks and semaphores. Warns of problems in the
 * replies to requests. A damaged holder, or a holder by another program, has no instance.
 * Such queue entries are left out. Thread-safe.
 */
final class ResourceReplies {

	private static final Log logger = LogFactory.getLog(ResourceReplies.class);

	private static final int MAX_WARNED_KEYS = 1000;

	/**
	 * Holder or waiter of a semaphore: token, number of permits, and a part for scripts
	 * only.
	 */
	private static final Pattern PERMIT_ENTRY = Pattern.compile("([0-9a-f]{32}:[0-9]{1,18}):([0-9]{1,18})(:.*)?");

	/**
	 * Reader or waiter of a lock: token, claim of a waiter, r of a reader, and mode of a
	 * waiter.
	 */
	private static final Pattern LOCK_ENTRY = Pattern.compile("([0-9a-f]{32}:[0-9]{1,18}):(?:[0-9]{1,18}:)?(r?)[sp]?");

	private final RedisStoreOptions options;

	/**
	 * End of the last grace with a warning, by System.nanoTime(); 0 without a warning so
	 * far. Guarded by this.
	 */
	private long graceWarnedUntil;

	/**
	 * Keys that a warning has named. If there are too many, all but the last are
	 * forgotten.
	 */
	private final Set<String> keysWithoutExpiry = ConcurrentHashMap.newKeySet();

	ResourceReplies(RedisStoreOptions options) {
		this.options = options;
	}

	/**
	 * Read the reply to a request. Warns, once per key, of a key without expiry.
	 * @param from the position of the first element: 1 if granted, 0 if busy, -1 if
	 * rejected
	 * @param end the position after the last element
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
		long grace = reply.number(from + 4);
		warnOfGrace(grace);
		String owner = reply.text(from + 5);
		return new AcquireReply.Busy(ttl, reply.number(from + 2), reply.flag(from + 3), owner.isEmpty() ? null : owner,
				(end > from + 6) ? reply.count(from + 6) : 0, (end > from + 7) ? reply.count(from + 7) : 0, grace > 0);
	}

	private void warnOfMissingExpiry(String key) {
		if (this.keysWithoutExpiry.add(key)) {
			if (this.keysWithoutExpiry.size() > MAX_WARNED_KEYS) {
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

	/** Read the reply to an INSPECT. */
	static Standing standing(Resource resource, ScriptReply reply) {
		Kind kind = resource.kind();
		int returned = reply.count(8);
		List<TokenState> holders = !reply.isNull(0)
				? List.of(new TokenState(reply.text(0), Resource.ALL, reply.number(1)))
				: IntStream.range(0, returned)
					.mapToObj((i) -> state(reply.text(9 + 2 * i), kind, reply.number(10 + 2 * i)))
					.toList();
		List<TokenState> queue = reply.texts(9 + 2 * returned)
			.stream()
			.map((entry) -> state(entry, kind, 0))
			.filter((waiter) -> !waiter.token().isEmpty())
			.toList();
		return new Standing(resource, reply.number(1), reply.number(2), reply.isNull(3) ? null : reply.count(3),
				reply.count(4), reply.count(5), reply.count(6), holders, reply.count(7), queue);
	}

	/** Read an entry among the holders or in the queue. */
	private static TokenState state(String entry, Kind kind, long ttlMillis) {
		Matcher matcher = ((kind == Kind.LOCK) ? LOCK_ENTRY : PERMIT_ENTRY).matcher(entry);
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
