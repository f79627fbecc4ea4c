package io.holdfast.optimistic;

import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.RedisOperations;

/**
 * One attempt of {@link OptimisticTransactions}: reads at once, and notes what to write.
 * For the thread that runs the attempt, and only until its end.
 *
 * @since 0.1.0
 */
public interface OptimisticTransaction {

	/**
	 * To read with. The keys are watched already: what is read from them is what the
	 * writes rely on. To write with it would be to write at once, whatever becomes of the
	 * transaction.
	 * @return what blocks and throws as every template of Spring Data Redis does
	 */
	RedisOperations<String, String> read();

	/**
	 * Note what to write when the attempt has returned, all or nothing, and only if none
	 * of the watched keys has been changed by then.
	 * @param writer gives its commands to the operations that it is called with, which
	 * queue them: they all return {@code null}. Writers are run in the order in which
	 * they were noted; if one throws, nothing is written
	 * @throws IllegalStateException if the attempt is over
	 */
	void write(Consumer<RedisOperations<String, String>> writer);

	/**
	 * The code of a transaction: reads, and notes what to write.
	 *
	 * @param <T> what it returns
	 */
	@FunctionalInterface
	interface Attempt<T extends @Nullable Object> {

		/**
		 * Read, decide, and note what to write. Run again if others changed a key, with
		 * nothing left of what the last run noted.
		 * @param transaction this attempt, for this thread and until it returns
		 * @return what the transaction returns if this is its last attempt
		 */
		T run(OptimisticTransaction transaction);

	}

}
