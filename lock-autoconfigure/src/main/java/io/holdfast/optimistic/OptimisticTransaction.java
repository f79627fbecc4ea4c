package io.holdfast.optimistic;

import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.RedisOperations;

/**
 * One attempt of {@link OptimisticTransactions}: reads at once, and notes its writes. For
 * the thread that runs the attempt, and only until its end.
 *
 * @since 0.1.0
 */
public interface OptimisticTransaction {

	/**
	 * Return the template for reads, after WATCH and at once. Writes by this template are
	 * done at once, too, and stay if the transaction fails.
	 * @return a template that blocks and throws as every template of Spring Data Redis
	 */
	RedisOperations<String, String> read();

	/**
	 * Note a write, to be run after the attempt: with all others or not at all, and only
	 * if no other client has changed a watched key by then.
	 * @param writer the commands, which are queued by MULTI and so return {@code null}.
	 * Writers run in the order of their notes; if one throws, nothing is written
	 * @throws IllegalStateException if the attempt is over
	 */
	void write(Consumer<RedisOperations<String, String>> writer);

	/**
	 * The code of a transaction: reads, and notes its writes.
	 *
	 * @param <T> the type of its result
	 */
	@FunctionalInterface
	interface Attempt<T extends @Nullable Object> {

		/**
		 * Read, decide, and note the writes. Run again if another client changed a key,
		 * without the notes of the last run.
		 * @param transaction this attempt, for this thread and until it returns
		 * @return the transaction's result if this is its last attempt
		 */
		T run(OptimisticTransaction transaction);

	}

}
