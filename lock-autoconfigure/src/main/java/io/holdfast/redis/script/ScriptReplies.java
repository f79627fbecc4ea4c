package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.redis.key.RedisStoreOptions;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Reads the replies of scripts. Thread-safe.
 */
public final class ScriptReplies {

	private static final Log logger = LogFactory.getLog(ScriptReplies.class);

	private static final int KEYS_WARNED_OF = 1000;

	private final RedisStoreOptions options;

	/** By System.nanoTime(), 0 at first. Guarded by this. */
	private long graceWarnedUntil;

	/** The keys that were warned of; the others are forgotten when there are too many. */
	private final Set<String> keysWithoutExpiry = ConcurrentHashMap.newKeySet();

	/** Create the reader of replies to a store's scripts. */
	public ScriptReplies(RedisStoreOptions options) {
		this.options = options;
	}

	/**
	 * Return the outcome for a token that asked by a command of its own.
	 * @param reply the script's reply; in the usual case the fence of its grant alone
	 * @param leaseMillis the lease that it asked for
	 */
	public AcquireReply acquired(Resource resource, List<?> reply, long leaseMillis) {
		if (reply.size() > 1) {
			return acquired(resource, reply, 0);
		}
		return new AcquireReply.Granted(number(reply.get(0)), leaseMillis);
	}

	/**
	 * Return the outcome for a token that asks. Warns, once per key, of a key without
	 * expiry.
	 * @param from where in it this begins: 1 if it was granted, 0 if not, or -1 if it
	 * never can be
	 */
	private AcquireReply acquired(Resource resource, List<?> reply, int from) {
		long outcome = number(reply.get(from));
		if (outcome == 1) {
			long fence = number(reply.get(from + 1));
			long ttl = number(reply.get(from + 2));
			return new AcquireReply.Granted(fence, ttl);
		}
		if (outcome == -1) {
			return new AcquireReply.Rejected((int) number(reply.get(from + 1)));
		}
		long ttl = number(reply.get(from + 1));
		if (ttl == -1) {
			warnOfMissingExpiry(this.options.keyOf(resource));
		}
		warnOfGrace(number(reply.get(from + 4)));
		String owner = text(reply.get(from + 5));
		return new AcquireReply.Busy(ttl, number(reply.get(from + 2)), number(reply.get(from + 3)) == 1,
				owner.isEmpty() ? null : owner, count(reply, from + 6), count(reply, from + 7));
	}

	/** Return a number that the reply need not have. */
	private static int count(List<?> reply, int at) {
		return (reply.size() > at) ? (int) number(reply.get(at)) : 0;
	}

	/**
	 * Return the outcome for a token that a release brings in.
	 * @param from where in it this begins
	 * @return the reply; {@code null} for a grant that replicas are to confirm: it is to
	 * ask by itself, as the release must not wait for them
	 */
	public @Nullable AcquireReply followed(Resource resource, List<?> reply, int from) {
		AcquireReply next = acquired(resource, reply, from);
		return (this.options.replicas() != null && next instanceof AcquireReply.Granted) ? null : next;
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

	/** Return a number of a reply. */
	public static long number(@Nullable Object value) {
		if (value instanceof Number number) {
			return number.longValue();
		}
		if (value instanceof byte[] digits) {
			return Long.parseLong(text(digits));
		}
		throw new IllegalStateException("A number was expected in the reply of a script");
	}

	/**
	 * Return which of several leases were renewed.
	 * @param reply how many there are, and at which places, from 1 on, those are that
	 * were not
	 * @return for each whether it was
	 */
	public static List<Boolean> kept(List<?> reply, int count) {
		if (number(reply.get(0)) != count) {
			throw new IllegalStateException("The answer for " + count + " leases is for " + reply.get(0));
		}
		Boolean[] kept = new Boolean[count];
		Arrays.fill(kept, true);
		for (int i = 1; i < reply.size(); i++) {
			kept[(int) number(reply.get(i)) - 1] = false;
		}
		return List.of(kept);
	}

	/**
	 * Return the outcome for an ended token.
	 * @param outcome 1 if it held anything, 0 if not, 2 if not and that says nothing, as
	 * during a grace
	 * @param next the outcome for the token that takes its place, or {@code null}
	 * @param repeated whether the command may have run before
	 */
	public static ReleaseReply released(@Nullable Object outcome, @Nullable AcquireReply next, boolean repeated) {
		long found = number(outcome);
		return new ReleaseReply(found == 1, next, found == 1 || found == 0 && !repeated);
	}

	/** Return a flag of a reply. */
	public static boolean flag(@Nullable Object value) {
		return number(value) == 1;
	}

	/** Return a text of a reply. */
	public static String text(@Nullable Object value) {
		if (value instanceof byte[] bytes) {
			return new String(bytes, StandardCharsets.UTF_8);
		}
		throw new IllegalStateException("A text was expected in the reply of a script");
	}

}
