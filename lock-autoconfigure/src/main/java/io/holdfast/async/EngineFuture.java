package io.holdfast.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

import org.jspecify.annotations.Nullable;

/**
 * Future of an engine, and of its dependent stages. Carries the engine's threads, for
 * code that must not run on the caller's thread.
 *
 * @param <T> the type of the value
 */
public final class EngineFuture<T extends @Nullable Object> extends CompletableFuture<T> {

	private final Executor threads;

	/**
	 * Create a future.
	 * @param threads runs code that may block
	 */
	public EngineFuture(Executor threads) {
		this.threads = threads;
	}

	/** Return the executor of code that may block. */
	Executor threads() {
		return this.threads;
	}

	@Override
	public <U extends @Nullable Object> CompletableFuture<U> newIncompleteFuture() {
		return new EngineFuture<>(this.threads);
	}

}
