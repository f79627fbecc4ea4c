package io.holdfast.memory;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.holdfast.engine.store.StoreCommandException;

/**
 * The access of one instance to {@link MemoryLeases}, until it is closed. Thread-safe.
 */
final class MemoryAccess {

	private volatile boolean closed;

	/** Run a command. Its answer is there at once; it has failed if this is closed. */
	<T> CompletableFuture<T> answer(Supplier<T> command) {
		return this.closed
				? CompletableFuture
					.failedFuture(new StoreCommandException("The store of the leases was closed", false, null))
				: CompletableFuture.completedFuture(command.get());
	}

	void close() {
		this.closed = true;
	}

}
