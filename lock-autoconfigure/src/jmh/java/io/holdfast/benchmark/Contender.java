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
	 * @throws UnsupportedOperationException if the contender only {@linkplain #run runs}
	 * a body
	 */
	default Held acquire(String key) throws InterruptedException {
		throw new UnsupportedOperationException();
	}

	/**
	 * Acquire a key without blocking, if the contender can.
	 * @param key which lock
	 * @return what to release, on any thread
	 */
	default CompletableFuture<Held> acquireAsync(String key) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Run a body while a key is held. Blocks until the key is acquired, and for as long
	 * as the contender's own call blocks afterwards.
	 * @param key which lock or semaphore
	 * @param body what to run; a contender that does not wait leaves it out if the key is
	 * taken
	 */
	default void run(String key, Runnable body) throws InterruptedException {
		Held held = acquire(key);
		try {
			body.run();
		}
		finally {
			held.release();
		}
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

	static Contender of(Call call, Runnable end) {
		return new Contender() {

			@Override
			public void run(String key, Runnable body) throws InterruptedException {
				call.run(key, body);
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

	/**
	 * How to run a body.
	 */
	interface Call {

		void run(String key, Runnable body) throws InterruptedException;

	}

}
