package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Function;

import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

/**
 * Scripts that grant, renew and release. The settings of a store are constants in the
 * text of the scripts: arguments would be sent and read with each command.
 *
 * @param acquire the request for a lock
 * @param release the end of a token that holds or waits for a lock
 * @param renew the renewal of leases
 * @param acquirePermits the request for permits
 * @param releasePermits the end of a token that holds or waits for permits
 * @param limit the change of a semaphore's limit
 */
public record StoreScripts(Script acquire, Script release, Script renew, Script acquirePermits, Script releasePermits,
		Script limit) {

	/**
	 * Initial values, which stay without a fail-over grace. With a grace, grace.lua
	 * follows, and sets other values.
	 */
	private static final String NO_GRACE = "local grace, serverSince, keyCount = 0, 0, #KEYS\n";

	/**
	 * Create the scripts of a store.
	 * @param shard the suffix of the channels in a slot of one master of a cluster;
	 * {@code null} for channels of all masters, and outside of a cluster
	 */
	public static StoreScripts of(RedisStoreOptions options, boolean cluster, @Nullable String shard) {
		String settings = settings(options, cluster) + "local shard = " + ((shard != null) ? literal(shard) : "nil")
				+ "\n" + NO_GRACE;
		boolean grace = options.longestLease() != null;
		Function<String, Script> script = (file) -> grace ? Script.of(settings, "grace.lua", file)
				: Script.of(settings, file);
		return new StoreScripts(script.apply("lock-acquire.lua"), script.apply("lock-release.lua"),
				script.apply("renew.lua"), script.apply("permits-acquire.lua"), script.apply("permits-release.lua"),
				script.apply("limit.lua"));
	}

	/**
	 * Return the settings in Lua: the longest lease time, or 0 without a fail-over grace;
	 * the retention of fences; the hand-off timeout; the new expiry of locks without
	 * expiry, or 0 to leave such locks alone; whether Redis is a cluster; the length of
	 * the prefix of lock keys, in bytes; and the prefix of channels. Times are in
	 * milliseconds.
	 */
	private static String settings(RedisStoreOptions options, boolean cluster) {
		return "local longestLease, retention, handoffTimeout, heal = " + millis(options.longestLease()) + ", "
				+ literal("" + options.fenceRetention().toMillis()) + ", " + options.handoffTimeout().toMillis() + ", "
				+ millis(options.healMissingTtl()) + "\nlocal cluster, prefixLength, channelPrefix = " + cluster + ", "
				+ options.lockPrefix().getBytes(StandardCharsets.UTF_8).length + ", " + literal(options.channelPrefix())
				+ "\n";
	}

	private static long millis(@Nullable Duration time) {
		return (time != null) ? time.toMillis() : 0;
	}

	/**
	 * Return a text as a Lua literal. Quotes, backslashes, and bytes outside of printable
	 * ASCII are written as numbers.
	 */
	private static String literal(String text) {
		StringBuilder literal = new StringBuilder("'");
		for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
			if (each >= ' ' && each < 127 && each != '\'' && each != '\\') {
				literal.append((char) each);
			}
			else {
				literal.append(String.format(Locale.ROOT, "\\%03d", each & 0xff));
			}
		}
		return literal.append('\'').toString();
	}

}
