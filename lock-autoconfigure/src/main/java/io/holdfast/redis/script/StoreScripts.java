package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Function;

import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

/**
 * The scripts that grant, renew and release. The settings of a store are constants in
 * their text: as arguments they would be sent and read with each command.
 *
 * @param acquire asks for a lock
 * @param release ends a token that has or wants a lock
 * @param renew lengthens leases
 * @param acquirePermits asks for permits
 * @param releasePermits ends a token that has or wants permits
 * @param limit sets the limit of a semaphore
 */
public record StoreScripts(Script acquire, Script release, Script renew, Script acquirePermits, Script releasePermits,
		Script limit) {

	/**
	 * In place of grace.lua in the scripts of an instance without a fail-over grace.
	 */
	private static final String NO_GRACE = "local grace, serverSince, keyCount = 0, 0, #KEYS\n";

	/**
	 * Put the scripts of a store together.
	 * @param shard for one master of a cluster, the ending of the channels in a slot of
	 * that master; {@code null} for all masters, and outside of a cluster
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
	 * Write the settings as Lua: the longest lease that may be asked for, or 0 without a
	 * fail-over grace; how long fences are kept; the time that every hand-off is given;
	 * the life for a lock without expiry, or 0 to leave it alone; whether Redis is a
	 * cluster; the length of the prefix of lock keys, in bytes; the prefix of channels.
	 * Times in milliseconds.
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
	 * Return a text in Lua's notation, by the numbers of its bytes where these are not
	 * plain.
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
