package io.holdfast.redis;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.async.BlockingWait;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreDiagnostic;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.RedisStoreOptions.Replicas;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.async.BaseRedisAsyncCommands;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.RedisTemplate;

/**
 * Looks for dangers to leases: in the settings of the servers, and in the rights of the
 * application's user. Changes nothing in Redis. Thread-safe.
 */
final class RedisDiagnostics {

	private static final long ANSWER_SECONDS = 10;

	private final RedisTemplate<String, String> template;

	private final ScriptExecutor executor;

	private final RedisStoreOptions options;

	/** Create the diagnostics of the servers behind a store. */
	public RedisDiagnostics(RedisTemplate<String, String> template, ScriptExecutor executor,
			RedisStoreOptions options) {
		this.template = template;
		this.executor = executor;
		this.options = options;
	}

	/**
	 * Begin to look, on a thread of its own, as drivers block.
	 * @return the findings; fails with {@link StoreCommandException}
	 */
	public CompletableFuture<List<StoreDiagnostic>> start() {
		CompletableFuture<List<StoreDiagnostic>> findings = new CompletableFuture<>();
		this.executor.threads().start(() -> {
			try {
				findings.complete(Stream.of(servers(), rights()).flatMap(List::stream).toList());
			}
			catch (RuntimeException | LinkageError ex) {
				findings.completeExceptionally(RedisFailures.of(ex, "what it tells of itself"));
			}
		}, "holdfast-examination");
		return findings;
	}

	private List<StoreDiagnostic> servers() {
		Replicas replicas = this.options.replicas();
		List<StoreDiagnostic> findings = this.template.execute(
				(RedisCallback<List<StoreDiagnostic>>) (connection) -> new ServerReport(connection.serverCommands(),
						reasonForReplicas(connection), (replicas != null) ? replicas.min() : 0)
					.findings());
		return (findings != null) ? findings : List.of();
	}

	/** Return why a master is to have replicas, as far as the configuration tells. */
	private @Nullable String reasonForReplicas(RedisConnection connection) {
		if (this.template.getRequiredConnectionFactory() instanceof LettuceConnectionFactory lettuce
				&& lettuce.isRedisSentinelAware()) {
			return "Sentinel is configured";
		}
		return (connection.getNativeConnection() instanceof AbstractRedisAsyncCommands<?, ?> commands
				&& commands.getConnection() instanceof StatefulRedisMasterReplicaConnection<?, ?>)
						? "replicas are configured" : null;
	}

	private List<StoreDiagnostic> rights() {
		// There is no such key, and no listener at such a channel.
		String name = UUID.randomUUID().toString();
		Set<String> missing = new LinkedHashSet<>();
		List<StoreDiagnostic> findings = new ArrayList<>();
		for (String beginning : beginnings()) {
			missing
				.addAll(missing(false, beginning, name, (refusal) -> findings.add(new StoreDiagnostic(true, refusal))));
		}
		if (this.options.replicas() != null && !mayWait()) {
			missing.add("wait");
		}
		if (!missing.isEmpty()) {
			findings.add(new StoreDiagnostic(true,
					"Redis does not give the application's user rights that locks or semaphores need: allow it the commands "
							+ String.join(" ", missing)
							+ (missing.contains("publish") ? " and the channels " + this.options.channelPrefix() + "*"
									: "")
							+ (missing.contains("info") ? ", or set holdfast.redis.fail-over-grace to false" : "")
							+ (missing.contains("wait") ? ", or set holdfast.redis.min-replicas to 0" : "")));
		}
		findings.addAll(rightsToWatch(name));
		return findings;
	}

	private List<String> beginnings() {
		List<String> beginnings = new ArrayList<>();
		for (String prefix : List.of(this.options.lockPrefix(), this.options.semaphorePrefix())) {
			beginnings.add(prefix);
			if (!RedisKeys.hasHashTag(prefix)) {
				beginnings.add("{" + prefix);
			}
		}
		if (this.options.longestLease() != null) {
			beginnings.add(this.options.serverKey());
		}
		return beginnings;
	}

	/** Look for rights that only the views of the fleet need. */
	private List<StoreDiagnostic> rightsToWatch(String name) {
		List<String> lacks = new ArrayList<>();
		List<String> missing = missing(true, this.options.fleetKey(), name, lacks::add);
		if (!missing.isEmpty()) {
			lacks.add("allow it the commands " + String.join(" ", missing));
		}
		return lacks.stream()
			.map((lack) -> new StoreDiagnostic(true, "Redis does not give the application's user"
					+ " rights that are needed to watch the fleet (locks and semaphores work without them): " + lack))
			.toList();
	}

	/** Not to be tried in a script, but harmless: it waits for no replica. */
	private boolean mayWait() {
		RedisFuture<Long> answer = this.template.execute((RedisCallback<RedisFuture<Long>>) (
				connection) -> ((BaseRedisAsyncCommands<?, ?>) connection.getNativeConnection()).waitForReplication(0,
						1));
		try {
			await(Objects.requireNonNull(answer).toCompletableFuture(), "wait");
			return true;
		}
		catch (StoreCommandException ex) {
			if (RedisFailures.isForbidden(ex)) {
				return false;
			}
			throw ex;
		}
	}

	private static <T> T await(CompletableFuture<T> answer, String what) {
		try {
			return BlockingWait.get(answer, TimeUnit.SECONDS.toNanos(ANSWER_SECONDS));
		}
		catch (ExecutionException ex) {
			throw RedisFailures.of((ex.getCause() != null) ? ex.getCause() : ex, what);
		}
		catch (TimeoutException | InterruptedException ex) {
			throw new StoreCommandException("Redis did not answer within " + ANSWER_SECONDS + " s", true, ex);
		}
	}

	/**
	 * Return the commands that the user may not run.
	 * @param refusals takes the reason if Redis refuses to try them
	 */
	private List<String> missing(boolean fleet, String beginning, String name, Consumer<String> refusals) {
		String channel = this.options.polling() ? "" : this.options.channelPrefix() + name;
		try {
			return await(this.executor.execute(Script.RIGHTS, new byte[][] { RedisKeys.bytes(beginning + name) },
					new Object[] { channel, this.options.longestLease() != null, fleet }, beginning + "*",
					(reply) -> reply.texts(0)), beginning + "*");
		}
		catch (StoreCommandException ex) {
			// Without an answer there is no finding: an application may end at once.
			if (ex.isTemporary() || this.executor.isClosed()) {
				throw ex;
			}
			refusals.accept(String.valueOf(ex.getMessage()));
			return List.of();
		}
	}

}
