package io.holdfast.benchmark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;

/**
 * What Redis itself says of the work that contenders give it.
 */
final class RedisMonitor implements AutoCloseable {

	/** What clients of locks send; what scripts call is counted by Redis, too. */
	private static final Set<String> FROM_CLIENTS = Set.of("eval", "evalsha", "fcall", "subscribe", "unsubscribe",
			"psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "ping");

	private final RedisClient client;

	private final StatefulRedisConnection<String, String> connection;

	RedisMonitor(RedisAddress redis) {
		this.client = RedisClient.create(RedisURI.create(redis.host(), redis.port()));
		this.connection = this.client.connect();
	}

	private RedisCommands<String, String> redis() {
		return this.connection.sync();
	}

	/** How often each command was executed so far, also by scripts. */
	Map<String, Long> calls() {
		Map<String, Long> calls = new HashMap<>();
		redis().info("commandstats").lines().filter((line) -> line.startsWith("cmdstat_")).forEach((line) -> {
			String name = line.substring("cmdstat_".length(), line.indexOf(':'));
			String count = line.substring(line.indexOf("calls=") + "calls=".length(), line.indexOf(','));
			calls.put(name, Long.parseLong(count));
		});
		return calls;
	}

	/** How long a processor was busy with Redis so far. */
	double cpuSeconds() {
		return redis().info("cpu")
			.lines()
			.filter((line) -> line.startsWith("used_cpu_sys:") || line.startsWith("used_cpu_user:"))
			.mapToDouble((line) -> Double.parseDouble(line.substring(line.indexOf(':') + 1)))
			.sum();
	}

	/** How many commands came over the wire between two counts. */
	static long commands(ContenderType contender, Map<String, Long> before, Map<String, Long> after) {
		return after.entrySet()
			.stream()
			.filter((count) -> FROM_CLIENTS.contains(count.getKey())
					|| contender.plainCommands().contains(count.getKey()))
			.mapToLong((count) -> count.getValue() - before.getOrDefault(count.getKey(), 0L))
			.sum();
	}

	/** Begin to note commands that keep Redis busy. */
	void watchSlowCommands() {
		redis().configSet("slowlog-log-slower-than", "100");
		redis().configSet("slowlog-max-len", "1000");
		redis().slowlogReset();
	}

	/**
	 * How long Redis was busy with the longest command since then.
	 * @return milliseconds, 0 if none took a tenth of one
	 */
	double slowestCommandMillis() {
		double longest = 0;
		for (Object entry : redis().slowlogGet(1000)) {
			longest = Math.max(longest, (Long) ((List<?>) entry).get(2) / 1000.0);
		}
		redis().configSet("slowlog-log-slower-than", "10000");
		return longest;
	}

	/** How long a key lives if no client touches it. */
	long millisToLive(String key) {
		return redis().pttl(key);
	}

	/** Its name and version, memory allocator and program. */
	String server() {
		Map<String, String> info = new HashMap<>();
		(redis().info("server") + redis().info("memory")).lines()
			.map((line) -> line.split(":", 2))
			.filter((line) -> line.length == 2)
			.forEach((line) -> info.put(line[0], line[1]));
		String valkey = info.get("valkey_version");
		return ((valkey != null) ? "Valkey " + valkey : "Redis " + info.get("redis_version")) + ", "
				+ info.get("mem_allocator") + ", " + info.get("executable");
	}

	@Override
	public void close() {
		this.client.shutdown();
	}

}
