package io.holdfast.benchmark;

import java.util.concurrent.CompletableFuture;

/**
 * One way to take a lock, or a permit of a semaphore, as an application would take it.
 * Thread-safe.
 */
interface Contender extends AutoCloseable {

	/**
	 * Acquire a key, however long that takes.
	 * @param key which lock or semaphore
	 * @return what to release, on the same thread
	 */
	Held acquire(String key) throws InterruptedException;

	/**
	 * Acquire a key without blocking, if the contender can.
	 * @param key which lock
	 * @return what to release, on any thread
	 */
	default CompletableFuture<Held> acquireAsync(String key) {
		throw new UnsupportedOperationException();
	}

	@Override
	void close();

	static Contender of(Way way, Runnable end) {
		return new Contender() {

			@Override
			public Held acquire(String key) throws InterruptedException {
				return way.acquire(key);
			}

			@Override
			public void close() {
				end.run();
			}

		};
	}

	/**
	 * What was acquired.
	 */
	interface Held {

		void release();

	}

	/**
	 * How to acquire.
	 */
	interface Way {

		Held acquire(String key) throws InterruptedException;

	}

}
