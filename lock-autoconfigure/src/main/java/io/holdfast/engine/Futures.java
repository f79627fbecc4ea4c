package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import io.holdfast.engine.store.StoreCommandException;

/**
 * Blocking until the store answers, for work that must not be given up half done.
 */
public final class Futures {

	private Futures() {
	}

	/**
	 * Wait for an answer. Interrupts do not end the wait; the thread's flag is kept.
	 * @param time by whose clock
	 * @param answer the answer
	 * @param patience how long
	 * @param trouble makes the exception to throw if it fails or does not come
	 * @return the answer
	 */
	public static <T> T await(Scheduler time, CompletableFuture<T> answer, Duration patience,
			Function<Throwable, RuntimeException> trouble) {
		boolean interrupted = false;
		long until = time.nanoTime() + patience.toNanos();
		try {
			while (true) {
				try {
					return time.waitUntil(answer, until);
				}
				catch (InterruptedException ex) {
					interrupted = true;
				}
				catch (ExecutionException ex) {
					throw trouble.apply((ex.getCause() != null) ? ex.getCause() : ex);
				}
				catch (TimeoutException ex) {
					throw trouble.apply(StoreCommandException.silence(patience, ex));
				}
			}
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

}
