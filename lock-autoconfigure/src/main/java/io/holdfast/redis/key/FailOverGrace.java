package io.holdfast.redis.key;

import java.time.Duration;
import java.util.Arrays;

import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * The time for which a server of Redis grants nothing new if it is not the one that
 * granted before, while holders have their leases written down there again. As NFSv4 (RFC
 * 7530, 9.6.2) and Chubby (Burrows, OSDI 2006, 2.9) do it; here the scripts see to it, so
 * that no command can come before it has begun.
 *
 * @param longestLease the longest lease that may be asked for, or {@code null} to do
 * without
 * @param serverKey where the server is remembered
 * @since 0.1.0
 */
public record FailOverGrace(@Nullable Duration longestLease, String serverKey) {

	/**
	 * Refuse lease times that could outlast the grace.
	 * @param leaseMillis a lease that is asked for
	 * @throws StoreCommandException if it is too long
	 */
	public void check(long leaseMillis) {
		if (this.longestLease != null && !allows(leaseMillis)) {
			throw new StoreCommandException("A lease of " + leaseMillis
					+ " ms is longer than holdfast.redis.longest-lease (" + this.longestLease.toMillis()
					+ " ms), after which holdfast.redis.fail-over-grace counts every"
					+ " lease as ended: ask for a shorter one, which is renewed as long as it is held, or set that"
					+ " property, for all applications that share locks", false, null);
		}
	}

	/** Return whether a lease is over when the grace is. */
	public boolean allows(long leaseMillis) {
		return this.longestLease == null || leaseMillis <= this.longestLease.toMillis();
	}

	/** Return the KEYS of a script that grants or renews, with those of the grace. */
	public byte[][] keys(byte[][] keys) {
		if (this.longestLease == null) {
			return keys;
		}
		byte[][] more = Arrays.copyOf(keys, keys.length + 1);
		more[keys.length] = RedisKeys.bytes(this.serverKey);
		return more;
	}

}
