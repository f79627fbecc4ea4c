package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.engine.StoreFailure;

import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Runs scripts on the application's Redis without blocking whoever calls them.
 * Thread-safe.
 */
interface ScriptExecutor extends AutoCloseable {

	/**
	 * Begin to connect, so that the first call need not wait for that. Does not block; if
	 * it fails, the first call tries again.
	 */
	default void prepare() {
	}

	/**
	 * Send a call; it completes on any thread. A script that Redis does not know is sent
	 * again with its text.
	 * @param call the call
	 */
	void execute(ScriptCall<?> call);

	/**
	 * Send a script.
	 * @param <T> what the reply is turned into
	 * @param script the script
	 * @param keys gives its KEYS, or throws what the call is to fail with
	 * @param args its ARGV
	 * @param what the key in Redis that it is about, or what is tried, for messages
	 * @param reply turns the reply into a result
	 * @return the call
	 */
	default <T> CompletableFuture<T> execute(Script script, Supplier<byte[][]> keys, byte[][] args, String what,
			Function<List<?>, T> reply) {
		byte[][] names;
		try {
			names = keys.get();
		}
		catch (StoreFailure ex) {
			return CompletableFuture.failedFuture(ex);
		}
		return execute(script, names, args, what, reply);
	}

	/**
	 * Send a script.
	 * @param <T> what the reply is turned into
	 * @param script the script
	 * @param keys its KEYS
	 * @param args its ARGV
	 * @param what the key in Redis that it is about, or what is tried, for messages
	 * @param reply turns the reply into a result
	 * @return the call
	 */
	default <T> CompletableFuture<T> execute(Script script, byte[][] keys, byte[][] args, String what,
			Function<List<?>, T> reply) {
		ScriptCall<T> call = new ScriptCall<>(script, keys, args, reply, (error) -> RedisFailures.of(error, what));
		execute(call);
		return call;
	}

	/**
	 * Return how often the connection was opened again; see
	 * {@link io.holdfast.engine.LeaseStore#reconnects}.
	 * @return the count
	 */
	long reconnects();

	/**
	 * Fail what was not sent yet, and all calls from now on.
	 */
	@Override
	void close();

	/**
	 * The best executor for a driver.
	 * @param factory the application's connections
	 * @return the executor
	 */
	static ScriptExecutor of(RedisConnectionFactory factory) {
		return Drivers.isSharedLettuce(factory) ? new LettuceScriptExecutor(factory)
				: new BlockingScriptExecutor(factory);
	}

}
