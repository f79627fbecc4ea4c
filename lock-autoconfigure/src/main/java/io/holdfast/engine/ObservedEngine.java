package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.LeaseStore.PermitState;

/**
 * The engine of an observed request, as far as observers may use it.
 *
 * @since 0.1.0
 */
public interface ObservedEngine {

	/**
	 * Ask the store for the permits of a semaphore. Does not block.
	 * @param key the semaphore
	 * @return the permits; fails if the store cannot be asked
	 */
	CompletableFuture<PermitState> inspectPermits(String key);

}
