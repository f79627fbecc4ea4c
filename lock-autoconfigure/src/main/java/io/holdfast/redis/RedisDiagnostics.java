package io.holdfast.redis;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.async.BlockingWait;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreDiagnostic;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.api.async.BaseRedisAsyncCommands;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisServerCommands;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Check for dangers to leases: eviction of keys, missing replicas, other nodes of a
 * cluster, and missing rights of the application's user. Changes nothing in Redis. Used
 * once.
 */
final class RedisDiagnostics {

	private static final long ANSWER_SECONDS = 10;

	/**
	 * Number of ready replicas in INFO, only of a master that requires replicas for
	 * writes.
	 */
	private static final String READY_REPLICAS = "min_slaves_good_slaves";

	/** Setting with the required number. */
	private static final String WANTED_REPLICAS = "min-replicas-to-write";

	private static final String NO_RIGHT_TO_WATCH = "Redis does not give the application's user rights that are needed"
			+ " to watch the fleet (locks and semaphores work without them): ";

	private final LettuceConnectionFactory connections;

	private final ScriptExecutor executor;

	private final RedisStoreOptions options;

	private final int minReplicas;

	private final List<StoreDiagnostic> findings = new ArrayList<>();

	/** Create a check of the servers of a store. */
	RedisDiagnostics(LettuceConnectionFactory connections, ScriptExecutor executor, RedisStoreOptions options) {
		this.connections = connections;
		this.executor = executor;
		this.options = options;
		this.minReplicas = (options.replicas() != null) ? options.replicas().min() : 0;
	}

	/**
	 * Start the check on its own thread, because drivers block.
	 * @return a future of the findings, which fails with {@link StoreCommandException}
	 */
	CompletableFuture<List<StoreDiagnostic>> start() {
		return CompletableFuture.supplyAsync(() -> {
			try (RedisConnection connection = this.connections.getConnection()) {
				if (judgeServers(connection)) {
					judgeRights(connection);
				}
				return this.findings;
			}
			catch (RuntimeException ex) {
				throw RedisFailures.of(ex, "what it tells of itself");
			}
		}, (task) -> this.executor.threads().start(task, "holdfast-examination"));
	}

	private void add(String problem) {
		this.findings.add(new StoreDiagnostic(true, problem));
	}

	/**
	 * Judge the servers.
	 * @return whether all keys can be used, so that the rights can be checked
	 */
	private boolean judgeServers(RedisConnection connection) {
		RedisServerCommands commands = connection.serverCommands();
		Properties answers = unlessForbidden(commands::info);
		if (answers == null) {
			this.findings
				.add(new StoreDiagnostic(false, "Redis does not let the application's user read its settings: allow "
						+ "it the command info, or make sure that maxmemory-policy is noeviction and that replicas are there"));
			return true;
		}
		if (answers.stringPropertyNames().stream().anyMatch((name) -> name.endsWith(READY_REPLICAS))) {
			// CONFIG is often forbidden even if INFO is allowed.
			Properties wanted = unlessForbidden(() -> commands.getConfig(WANTED_REPLICAS));
			answers.putAll((wanted != null) ? wanted : Map.of());
		}
		String reason = reasonForReplicas(connection);
		byServer(answers).forEach((server, figures) -> {
			judgeMemory(server, figures);
			judgeReplicas(server, figures, reason);
		});
		// The driver of a cluster puts the node in front of the name. Valkey has another
		// name.
		boolean node = "cluster".equals(answers.getProperty("redis_mode", answers.getProperty("server_mode")));
		if (node) {
			add("Redis is a node of a cluster, but is configured as a single server: locks and permits with keys of "
					+ "other nodes fail. Set spring.data.redis.cluster.nodes");
		}
		return !node;
	}

	private static <T> @Nullable T unlessForbidden(Supplier<@Nullable T> question) {
		try {
			return question.get();
		}
		catch (RuntimeException ex) {
			if (RedisFailures.isForbidden(ex)) {
				return null;
			}
			throw ex;
		}
	}

	/**
	 * Return the reason to expect replicas at a master, or {@code null} if the
	 * configuration mentions no replicas.
	 */
	private @Nullable String reasonForReplicas(RedisConnection connection) {
		if (this.connections.isRedisSentinelAware()) {
			return "Sentinel is configured";
		}
		AbstractRedisAsyncCommands<?, ?> commands = (AbstractRedisAsyncCommands<?, ?>) connection.getNativeConnection();
		return (commands.getConnection() instanceof StatefulRedisMasterReplicaConnection) ? "replicas are configured"
				: null;
	}

	private void judgeMemory(String server, Properties info) {
		String policy = info.getProperty("maxmemory_policy", "noeviction");
		String limit = info.getProperty("maxmemory", "0");
		if (!policy.equals("noeviction") && !limit.equals("0")) {
			add("Redis" + server + " may evict locks and permits while they are held: its maxmemory-policy is " + policy
					+ " (maxmemory is " + limit + " bytes). Set maxmemory-policy to noeviction, or use another Redis");
		}
	}

	private void judgeReplicas(String server, Properties info, @Nullable String reason) {
		if (!info.getProperty("role", "").equals("master")) {
			return;
		}
		String ready = info.getProperty(READY_REPLICAS);
		String wanted = info.getProperty(WANTED_REPLICAS);
		if (ready != null && Long.parseLong(ready) < ((wanted != null) ? Long.parseLong(wanted) : 1)) {
			add("Redis" + server + " refuses to write: it wants " + ((wanted != null) ? wanted : "some")
					+ " replicas for that (min-replicas-to-write) and has " + ready + ". Bring its replicas back");
		}
		else if (online(info) < this.minReplicas) {
			add("Locks and permits are not acquired: Redis" + server + " has " + online(info)
					+ " replicas, and holdfast.redis.min-replicas is " + this.minReplicas
					+ ". Bring its replicas back");
		}
		else if (reason != null && info.getProperty("connected_slaves", "0").equals("0")) {
			add("Redis" + server + " has no replica, although " + reason
					+ ": if it dies, no other server takes over, and locks and permits are lost. Bring its replicas back");
		}
	}

	private static long online(Properties info) {
		return info.stringPropertyNames()
			.stream()
			.filter((name) -> name.matches("slave\\d+") && info.getProperty(name).contains("state=online"))
			.count();
	}

	/**
	 * Split the answers of a cluster by node: in a cluster, the node precedes each name.
	 * @param answers the answers, by {@code name} or {@code host:port.name}
	 * @return the answers of each server, by its description in messages, which is empty
	 * outside of a cluster
	 */
	private static Map<String, Properties> byServer(Properties answers) {
		Map<String, Properties> servers = new TreeMap<>();
		answers.stringPropertyNames().forEach((name) -> {
			int at = name.lastIndexOf('.');
			String server = (at < 0) ? "" : " at " + name.substring(0, at);
			servers.computeIfAbsent(server, (k) -> new Properties())
				.setProperty(name.substring(at + 1), answers.getProperty(name));
		});
		return servers;
	}

	private void judgeRights(RedisConnection connection) {
		// No such key exists, and no such channel has a subscriber.
		String name = UUID.randomUUID().toString();
		Set<String> missing = new LinkedHashSet<>();
		for (String prefix : prefixes()) {
			missing.addAll(missing(false, prefix, name, this::add));
		}
		if (this.minReplicas > 0 && !mayWait(connection)) {
			missing.add("wait");
		}
		if (!missing.isEmpty()) {
			add("Redis does not give the application's user rights that locks or semaphores need: allow it the commands "
					+ String.join(" ", missing)
					+ (missing.contains("publish") ? " and the channels " + this.options.channelPrefix() + "*" : "")
					+ (missing.contains("info") ? ", or set holdfast.redis.fail-over-grace to false" : "")
					+ (missing.contains("wait") ? ", or set holdfast.redis.min-replicas to 0" : ""));
		}
		// Only the views of the fleet need further rights.
		List<String> missingToWatch = missing(true, this.options.fleetKey(), name,
				(refusal) -> add(NO_RIGHT_TO_WATCH + refusal));
		if (!missingToWatch.isEmpty()) {
			add(NO_RIGHT_TO_WATCH + "allow it the commands " + String.join(" ", missingToWatch));
		}
	}

	private List<String> prefixes() {
		List<String> prefixes = new ArrayList<>();
		for (String prefix : List.of(this.options.lockPrefix(), this.options.semaphorePrefix())) {
			prefixes.add(prefix);
			if (!RedisKeys.hasHashTag(prefix)) {
				prefixes.add("{" + prefix);
			}
		}
		if (this.options.longestLease() != null) {
			prefixes.add(this.options.serverKey());
		}
		return prefixes;
	}

	/**
	 * Return whether the user may run WAIT, which scripts cannot try. Waits for no
	 * replica.
	 */
	private static boolean mayWait(RedisConnection connection) {
		BaseRedisAsyncCommands<?, ?> commands = (BaseRedisAsyncCommands<?, ?>) connection.getNativeConnection();
		return unlessForbidden(() -> await(commands.waitForReplication(0, 1).toCompletableFuture(), "wait")) != null;
	}

	private static <T> T await(CompletableFuture<T> answer, String subject) {
		try {
			return BlockingWait.get(answer, TimeUnit.SECONDS.toNanos(ANSWER_SECONDS));
		}
		catch (ExecutionException ex) {
			throw RedisFailures.of((ex.getCause() != null) ? ex.getCause() : ex, subject);
		}
		catch (TimeoutException | InterruptedException ex) {
			throw new StoreCommandException("Redis did not answer within " + ANSWER_SECONDS + " s", true, ex);
		}
	}

	/**
	 * Return the commands that the user may not run.
	 * @param refusals the receiver of the reason if Redis refuses to run the script
	 */
	private List<String> missing(boolean fleet, String prefix, String name, Consumer<String> refusals) {
		String channel = this.options.polling() ? "" : this.options.channelPrefix() + name;
		try {
			return await(this.executor.execute(Script.RIGHTS, new byte[][] { RedisKeys.bytes(prefix + name) },
					new Object[] { channel, this.options.longestLease() != null, fleet }, prefix + "*",
					(reply) -> reply.texts(0)), prefix + "*");
		}
		catch (StoreCommandException ex) {
			// A lost connection or the end of the application is no finding.
			if (ex.isTemporary() || this.executor.isClosed()) {
				throw ex;
			}
			refusals.accept(String.valueOf(ex.getMessage()));
			return List.of();
		}
	}

}
