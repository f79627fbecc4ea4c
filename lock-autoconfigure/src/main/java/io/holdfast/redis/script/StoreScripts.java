package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.stream.Stream;

import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

/**
 * The scripts that grant, renew and release. The settings of a store are constants in
 * their text: as arguments they would be sent and read with each command.
 *
 * @param acquire asks for an exclusive lock
 * @param release ends a token of an exclusive lock
 * @param endLock ends a token that has a lock, and tells its instance
 * @param renew lengthens leases of exclusive locks
 * @param acquirePermits asks for permits
 * @param releasePermits ends a token that has or wants permits
 * @param endPermits ends tokens that have permits, and tells their instances
 * @param limitPermits sets the limit of a semaphore
 * @param renewPermits lengthens leases of permits
 */
public record StoreScripts(Script acquire, Script release, Script endLock, Script renew, Script acquirePermits,
		Script releasePermits, Script endPermits, Script limitPermits, Script renewPermits) {

	/**
	 * What the scripts of an instance without a fail-over grace have instead of
	 * grace.lua.
	 */
	private static final String NO_GRACE = "local grace, serverSince, keyCount = 0, 0, #KEYS\n";

	/** Put the scripts of a store together. */
	public static StoreScripts of(RedisStoreOptions options, boolean cluster) {
		return of(options, cluster, null);
	}

	/**
	 * Put the scripts of a store together for one master of a cluster.
	 * @param shard what the channels end with that are in a slot of that master
	 */
	public static StoreScripts ofShard(RedisStoreOptions options, String shard) {
		return of(options, true, shard);
	}

	private static StoreScripts of(RedisStoreOptions options, boolean cluster, @Nullable String shard) {
		String settings = settings(options, cluster) + "local shard = " + ((shard != null) ? literal(shard) : "nil")
				+ "\n" + NO_GRACE;
		String[] grace = (options.longestLease() != null) ? new String[] { "grace.lua" } : new String[0];
		return new StoreScripts(
				of(settings, grace, "lock-reads.lua", "lock-clock.lua", "lock-acquire-free.lua", "lock-grant.lua",
						"notify.lua", "lock-shared.lua", "lock-acquire.lua"),
				of(settings, grace, "lock-reads.lua", "lock-release-free.lua", "lock-clock.lua", "notify.lua",
						"lock-release-next.lua", "lock-grant.lua", "lock-shared.lua", "lock-release.lua"),
				of(settings, grace, "lock-reads.lua", "lock-clock.lua", "lock-owner.lua", "lock-grant.lua",
						"notify.lua", "lock-shared.lua", "lock-end.lua"),
				of(settings, grace, "renew.lua"),
				of(settings, grace, "permits-reads.lua", "permits-fence.lua", "permits-acquire-free.lua", "notify.lua",
						"permits-shared.lua", "permits-ask.lua", "permits-acquire.lua"),
				of(settings, grace, "permits-reads.lua", "permits-release-free.lua", "permits-fence.lua", "notify.lua",
						"permits-release-next.lua", "permits-shared.lua", "permits-ask.lua", "permits-release.lua"),
				of(settings, grace, "permits-reads.lua", "permits-fence.lua", "notify.lua", "permits-shared.lua",
						"permits-end.lua"),
				of(settings, grace, "permits-reads.lua", "permits-fence.lua", "notify.lua", "permits-shared.lua",
						"permits-limit.lua"),
				of(settings, grace, "permits-renew.lua"));
	}

	private static Script of(String settings, String[] grace, String... files) {
		return Script.of(settings, Stream.of(grace, files).flatMap(Stream::of).toArray(String[]::new));
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
