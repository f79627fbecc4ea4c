package io.holdfast.optimistic;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.LeaseStoreException;
import io.holdfast.redis.driver.Drivers;
import io.holdfast.redis.driver.SessionConnections;
import io.holdfast.redis.script.RedisFailures;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.QueryTimeoutException;
import org.springframework.data.redis.RedisConnectionFailureException;
import org.springframework.data.redis.connection.RedisTxCommands;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * Attempt of a transaction, as a session of a {@code RedisTemplate}: WATCH, the attempt's
 * code, MULTI, the added writes, EXEC. Spring binds the connection of the session to the
 * thread. At the end, no key is watched, and no command is queued. For one thread.
 *
 * @param <T> the type of the result
 */
final class WatchSession<T extends @Nullable Object> implements OptimisticTransaction, SessionCallback<T> {

	private final SessionConnections connections;

	private final StringRedisTemplate template;

	private final List<String> keys;

	private final Attempt<T> attempt;

	private final List<Consumer<RedisOperations<String, String>>> writers = new ArrayList<>();

	/**
	 * Effect of a failure of Redis at this point, for messages; {@code null} while the
	 * user's code runs.
	 */
	private @Nullable String outcome = "was not begun";

	private boolean over;

	private boolean complete;

	/**
	 * Create the session of an attempt.
	 * @param connections the connections of this session
	 * @param keys the keys to watch
	 * @param attempt the code
	 */
	WatchSession(SessionConnections connections, List<String> keys, Attempt<T> attempt) {
		this.connections = connections;
		this.template = new StringRedisTemplate(connections);
		this.keys = keys;
		this.attempt = attempt;
	}

	/** Return whether the writes were executed, or there were none. */
	boolean isComplete() {
		return this.complete;
	}

	/**
	 * Run the attempt.
	 * @return the result, which is valid only if the session is complete
	 */
	T run() {
		try {
			return this.template.execute(this);
		}
		catch (RuntimeException ex) {
			if (this.outcome == null) {
				throw ex;
			}
			throw new LeaseStoreException(String.join(", ", this.keys),
					"The optimistic transaction on " + this.keys + " " + this.outcome + ": " + reason(ex), ex);
		}
	}

	@Override
	public <K, V> T execute(RedisOperations<K, V> session) {
		this.template.watch(this.keys);
		T result = call(() -> this.attempt.run(this), this.template::unwatch);
		if (this.writers.isEmpty()) {
			this.complete = true;
			end(this.template::unwatch, true);
			return result;
		}
		this.outcome = "was not run, and nothing written";
		this.template.multi();
		// Spring could not tell an empty EXEC from an EXEC after a changed key.
		this.template.hasKey(this.keys.get(0));
		call(() -> {
			this.writers.forEach((writer) -> writer.accept(this.template));
			return true;
		}, this.template::discard);
		this.complete = exec();
		return result;
	}

	/**
	 * Call the user's code. After an exception, end the watch or the queue of commands.
	 */
	private <R extends @Nullable Object> R call(Supplier<R> code, Runnable end) {
		this.outcome = null;
		try {
			return code.get();
		}
		catch (RuntimeException | Error ex) {
			// If Redis is silent, another command would also time out.
			if (!(ex instanceof QueryTimeoutException)) {
				end(end, RedisFailures.whyNoMaster(ex) == null);
			}
			throw ex;
		}
		finally {
			this.over = true;
		}
	}

	/**
	 * End the watch or the queue of commands. If this fails, the connection is not used
	 * again.
	 * @param again whether the connection may be used again; {@code false} for a
	 * connection to a former master
	 */
	private void end(Runnable command, boolean again) {
		try {
			command.run();
			if (again) {
				this.connections.ended();
			}
		}
		catch (RuntimeException ex) {
			// The result or the exception of the attempt has precedence.
		}
	}

	private boolean exec() {
		try {
			// Not the template's exec(), whose conversion of the results may fail.
			boolean written = this.template.execute(RedisTxCommands::exec) != null;
			this.connections.ended();
			return written;
		}
		catch (RuntimeException ex) {
			this.outcome = outcome(ex);
			throw ex;
		}
	}

	@Override
	public RedisOperations<String, String> read() {
		return this.template;
	}

	@Override
	public void write(Consumer<RedisOperations<String, String>> writer) {
		if (this.over) {
			throw new IllegalStateException("This attempt of the optimistic transaction is over, so this write"
					+ " would be lost: call write(…) before the attempt returns");
		}
		this.writers.add(writer);
	}

	private String reason(RuntimeException error) {
		return (error instanceof RedisConnectionFailureException)
				? String.valueOf(RedisFailures.of(error, this.keys.toString()).getMessage())
				: RedisFailures.deepest(error);
	}

	private static String outcome(RuntimeException error) {
		if (!Drivers.isAnswer(error)) {
			return "was given to Redis, which did not answer: it is not known whether it was run";
		}
		return RedisFailures.isAborted(error) ? "was not run, and nothing written, as Redis refused one of its commands"
				: "was run, except for a command that failed; Redis does not roll the others back";
	}

}
