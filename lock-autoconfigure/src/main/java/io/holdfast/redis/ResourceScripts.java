package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.FailOverGrace;
import io.holdfast.redis.key.RedisKeyCache;
import io.holdfast.redis.key.RedisKeyCache.Name;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.StoreScripts;

/**
 * Sends the scripts that change what is held of one resource or waited for. Thread-safe.
 */
final class ResourceScripts {

	private final ScriptExecutor executor;

	private final RedisKeyCache names;

	private final FailOverGrace grace;

	private final StoreScripts scripts;

	ResourceScripts(RedisStoreOptions options, boolean cluster, ScriptExecutor executor) {
		this.executor = executor;
		this.names = new RedisKeyCache(options, cluster);
		this.grace = options.grace();
		this.scripts = StoreScripts.of(options, cluster);
	}

	StoreScripts scripts() {
		return this.scripts;
	}

	/**
	 * Send a script.
	 * @param <T> what the reply is turned into
	 * @param script the script
	 * @param resource what it changes
	 * @param leaseMillis the lease that is asked for
	 * @param reply turns the reply into a result
	 * @param args its ARGV
	 * @return the call; has failed if the resource or the lease is refused
	 */
	<T> CompletableFuture<T> send(Script script, Resource resource, long leaseMillis, Function<List<?>, T> reply,
			byte[]... args) {
		Name name;
		try {
			name = this.names.of(resource);
			this.grace.check(leaseMillis);
		}
		catch (StoreCommandException ex) {
			return CompletableFuture.failedFuture(ex);
		}
		return this.executor.execute(script, name.keys(), args, name.key(), reply);
	}

}
