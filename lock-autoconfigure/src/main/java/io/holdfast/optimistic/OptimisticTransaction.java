package io.holdfast.optimistic;

import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.RedisOperations;

/**
 * Attempt of an optimistic transaction. Reads immediately, and collects writes. For the
 * thread that runs the attempt, and only until the end of the attempt.
 *
 * @since 0.1.0
 */
public interface OptimisticTransaction {

	/**
	 * Return the template for reads, which are executed immediately, after WATCH. Writes
	 * by this template are executed immediately, too, and stay if the transaction fails.
	 * @return a template, which blocks and throws exceptions like every template of
	 * Spring Data Redis
	 */
	RedisOperations<String, String> read();

	/**
	 * Add a write, which is executed after the attempt: together with all other writes or
	 * not at all, and only if no other client has changed a watched key before.
	 * @param writer the commands. MULTI queues the commands, so that each returns
	 * {@code null}. Writers run in the order of their addition. If a writer throws an
	 * exception, nothing is written
	 * @throws IllegalStateException if the attempt is over
	 */
	void write(Consumer<RedisOperations<String, String>> writer);

	/**
	 * Code of a transaction, which reads and adds writes.
	 *
	 * @param <T> the type of the result
	 */
	@FunctionalInterface
	interface Attempt<T extends @Nullable Object> {

		/**
		 * Read, decide, and add writes. Called again if another client has changed a key,
		 * without the writes of the previous call.
		 * @param transaction the attempt, for this thread and until this method returns
		 * @return the result of the transaction if this is the last attempt
		 */
		T run(OptimisticTransaction transaction);

	}

}
