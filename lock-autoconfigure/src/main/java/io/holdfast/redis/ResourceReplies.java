package io.holdfast.redis;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.driver.ScriptReply;
import io.holdfast.redis.key.RedisStoreOptions;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

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

	static Standing nothing(Resource resource) {
		return new Standing(resource, 0, null, 0, 0, 0, List.of(), 0, List.of());
	}

	static Standing standing(Resource resource, ScriptReply reply) {
		Kind kind = resource.kind();
		String owner = (kind == Kind.LOCK && !reply.isNull(0)) ? reply.text(0) : null;
		List<TokenState> holders = (owner != null) ? List.of(TokenState.of(owner, kind, Resource.ALL, reply.number(1)))
				: IntStream.range(0, reply.count(5))
					.mapToObj((i) -> place(reply.text(6 + 2 * i), kind, reply.number(7 + 2 * i)))
					.toList();
		List<TokenState> queue = queue(reply, kind);
		return (kind == Kind.LOCK)
				? new Standing(resource, reply.number(2), null, 0, 0, (owner != null) ? 1 : reply.count(3), holders,
						reply.count(4), queue)
				: new Standing(resource, 0, limit(reply), reply.count(1), reply.count(2), reply.count(3), holders,
						reply.count(4), queue);
	}

	/** Reads the reply for a lock. */
	static KeyState keyState(ScriptReply reply) {
		return new KeyState(reply.isNull(0) ? null : reply.text(0), reply.number(1), reply.number(2), reply.count(4),
				reply.count(3), named(reply, Kind.LOCK));
	}

	/** Reads the reply for a semaphore. */
	static PermitState permitState(ScriptReply reply) {
		return new PermitState(limit(reply), reply.count(1), reply.count(2), reply.count(3),
				named(reply, Kind.SEMAPHORE), reply.count(4));
	}

	private static List<PermitHolder> named(ScriptReply reply, Kind kind) {
		return IntStream.range(0, reply.count(5))
			.mapToObj((i) -> holder(reply.text(6 + 2 * i), kind, reply.number(7 + 2 * i)))
			.filter(Objects::nonNull)
			.toList();
	}

	private static @Nullable Integer limit(ScriptReply reply) {
		return reply.isNull(0) ? null : reply.count(0);
	}

	private static List<TokenState> queue(ScriptReply reply, Kind kind) {
		return reply.texts(6 + 2 * reply.count(5))
			.stream()
			.map((entry) -> place(entry, kind, 0))
			.filter((place) -> place.instance() != null)
			.toList();
	}

	private static TokenState place(String entry, Kind kind, long ttlMillis) {
		PermitHolder holder = holder(entry, kind, ttlMillis);
		return (holder != null) ? TokenState.of(holder.token(), kind, holder.permits(), ttlMillis)
				: new TokenState(null, 0, kind, 0, ttlMillis);
	}

	/**
	 * Reads an entry of a holder, or of a queue.
	 * @return the holder, or {@code null} if another program wrote the entry or damaged
	 * it
	 */
	private static @Nullable PermitHolder holder(String entry, Kind kind, long ttlMillis) {
		Matcher matcher = ((kind == Kind.LOCK) ? LOCK : PERMITS).matcher(entry);
		if (!matcher.matches()) {
			return null;
		}
		long permits = (kind == Kind.SEMAPHORE) ? Long.parseLong(matcher.group(2))
				: matcher.group(2).isEmpty() ? Resource.ALL : 1;
		return (permits <= Resource.ALL) ? new PermitHolder(matcher.group(1), (int) permits, ttlMillis) : null;
	}

}
