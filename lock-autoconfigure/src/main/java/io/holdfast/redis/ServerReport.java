package io.holdfast.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

import io.holdfast.engine.store.StoreDiagnostic;
import io.holdfast.redis.script.RedisFailures;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisServerCommands;

/**
 * Report of dangers to leases by the servers behind a connection: whether they throw keys
 * away, and whether replicas are missing.
 */
final class ServerReport {

	private final RedisServerCommands commands;

	private final @Nullable String reasonForReplicas;

	private final int minReplicas;

	private final List<StoreDiagnostic> findings = new ArrayList<>();

	/**
	 * Create the report.
	 * @param commands asks the servers
	 * @param reasonForReplicas why a master is to have replicas, or {@code null} if
	 * nothing says so
	 * @param minReplicas how many replicas are to confirm grants
	 */
	ServerReport(RedisServerCommands commands, @Nullable String reasonForReplicas, int minReplicas) {
		this.commands = commands;
		this.reasonForReplicas = reasonForReplicas;
		this.minReplicas = minReplicas;
	}

	/**
	 * Ask the servers. Blocks.
	 * @return the findings
	 * @throws RuntimeException of the driver, if they are not reached
	 */
	List<StoreDiagnostic> findings() {
		try {
			byServer(this.commands.info("memory")).forEach(this::judgeMemory);
			Map<String, Properties> replication = byServer(this.commands.info("replication"));
			Map<String, Properties> wanted = replication.values().stream().anyMatch(ServerReport::wantsReplicas)
					? byServer(wantedReplicas()) : Map.of();
			replication.forEach((server, info) -> judgeReplicas(server, info,
					wanted.getOrDefault(server, new Properties()).getProperty("min-replicas-to-write", "some")));
		}
		catch (RuntimeException ex) {
			if (!RedisFailures.isForbidden(ex)) {
				throw ex;
			}
			this.findings
				.add(new StoreDiagnostic(false, "Redis does not let the application's user ask for its settings: allow "
						+ "it the command info, or make sure that maxmemory-policy is noeviction and that replicas are there"));
		}
		return this.findings;
	}

	private void judgeMemory(String server, Properties info) {
		String policy = info.getProperty("maxmemory_policy", "noeviction");
		String limit = info.getProperty("maxmemory", "0");
		if (!policy.equals("noeviction") && !limit.equals("0")) {
			this.findings.add(new StoreDiagnostic(true,
					"Redis" + server + " may evict locks and permits while they are held: its maxmemory-policy is "
							+ policy + " (maxmemory is " + limit
							+ " bytes). Set maxmemory-policy to noeviction, or use another Redis"));
		}
	}

	private void judgeReplicas(String server, Properties info, String wanted) {
		if (!info.getProperty("role", "").equals("master")) {
			return;
		}
		String ready = info.getProperty("min_slaves_good_slaves", "0");
		boolean tooFew = wanted.chars().allMatch(Character::isDigit) ? Long.parseLong(ready) < Long.parseLong(wanted)
				: ready.equals("0");
		if (wantsReplicas(info) && tooFew) {
			this.findings.add(new StoreDiagnostic(true, "Redis" + server + " refuses to write: it wants " + wanted
					+ " replicas for that (min-replicas-to-write) and has " + ready + ". Bring its replicas back"));
		}
		else if (online(info) < this.minReplicas) {
			this.findings.add(new StoreDiagnostic(true,
					"Locks and permits are not acquired: Redis" + server + " has " + online(info)
							+ " replicas, and holdfast.redis.min-replicas is " + this.minReplicas
							+ ". Bring its replicas back"));
		}
		else if (this.reasonForReplicas != null && info.getProperty("connected_slaves", "0").equals("0")) {
			this.findings.add(new StoreDiagnostic(true, "Redis" + server + " has no replica, although "
					+ this.reasonForReplicas
					+ ": if it dies, no other server takes over, and locks and permits are lost. Bring its replicas back"));
		}
	}

	private static long online(Properties info) {
		return info.stringPropertyNames()
			.stream()
			.filter((name) -> name.matches("slave\\d+") && info.getProperty(name).contains("state=online"))
			.count();
	}

	/** Redis tells how many are ready only if it was told to want some. */
	private static boolean wantsReplicas(Properties info) {
		return info.containsKey("min_slaves_good_slaves");
	}

	/** Often forbidden where asking for other things is not. */
	private Properties wantedReplicas() {
		try {
			Properties wanted = this.commands.getConfig("min-replicas-to-write");
			return (wanted != null) ? wanted : new Properties();
		}
		catch (RuntimeException ex) {
			if (!RedisFailures.isForbidden(ex)) {
				throw ex;
			}
			return new Properties();
		}
	}

	/**
	 * Take apart the answers of a cluster's nodes, whose names are put before their
	 * words.
	 * @param told the answers, by {@code word} or {@code host:port.word}
	 * @return the answers of each one, by its name in a sentence: empty if there is one
	 */
	private static Map<String, Properties> byServer(@Nullable Properties told) {
		Map<String, Properties> servers = new TreeMap<>();
		if (told != null) {
			told.stringPropertyNames().forEach((name) -> {
				int at = name.lastIndexOf('.');
				String server = (at < 0) ? "" : " at " + name.substring(0, at);
				servers.computeIfAbsent(server, (k) -> new Properties())
					.setProperty(name.substring(at + 1), told.getProperty(name));
			});
		}
		return servers;
	}

}
