package io.holdfast.optimistic;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import io.holdfast.optimistic.OptimisticTransaction.Attempt;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.RedisOperations;

/**
 * Notes what an attempt wants to write. For one thread.
 */
final class QueuedTransaction implements OptimisticTransaction {

	private final RedisOperations<String, String> operations;

	private final List<Consumer<RedisOperations<String, String>>> writers = new ArrayList<>();

	private boolean over;

	QueuedTransaction(RedisOperations<String, String> operations) {
		this.operations = operations;
	}

	<T extends @Nullable Object> T run(Attempt<T> attempt) {
		try {
			return attempt.run(this);
		}
		finally {
			this.over = true;
		}
	}

	@Override
	public RedisOperations<String, String> read() {
		return this.operations;
	}

	@Override
	public void write(Consumer<RedisOperations<String, String>> writer) {
		if (this.over) {
			throw new IllegalStateException("This attempt of the optimistic transaction is over, so this write"
					+ " would be lost: call write(…) before the attempt returns");
		}
		this.writers.add(writer);
	}

	boolean isReadOnly() {
		return this.writers.isEmpty();
	}

	/** Give all commands to the connection of the operations, which queues them. */
	void queueWrites() {
		this.writers.forEach((writer) -> writer.accept(this.operations));
	}

}
