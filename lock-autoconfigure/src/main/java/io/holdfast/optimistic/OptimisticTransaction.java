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
	 * To read with. The keys are watched already: the writes rely on the values that are
	 * read from them. Writes by it are done at once, and stay if the transaction fails.
	 * @return a template that blocks and throws as every one of Spring Data Redis
	 */
	RedisOperations<String, String> read();

	/**
	 * Note a write for the time when the attempt has returned, all or nothing, and only
	 * if none of the watched keys has been changed by then.
	 * @param writer gives its commands to the operations that it is called with, which
	 * queue them: they all return {@code null}. Writers are run in the order in which
	 * they were noted; if one throws, nothing is written
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
		 * Read, decide, and note the writes. Run again if others changed a key, without
		 * the notes of the last run.
		 * @param transaction this attempt, for this thread and until it returns
		 * @return the transaction's result if this is its last attempt
		 */
		T run(OptimisticTransaction transaction);

	}

}
