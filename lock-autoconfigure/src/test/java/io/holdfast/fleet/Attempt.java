package io.holdfast.fleet;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;

/**
 * Call on a separate thread, often of acquire.
 *
 * @param <T> the type of the result
 */
final class Attempt<T> {

	/** Part of a wait. A pause of this whole JVM counts as a single part. */
	private static final Duration PART = Duration.ofMillis(50);

	private final CompletableFuture<T> result = new CompletableFuture<>();

	private final Thread thread;

	private volatile long endedAt;

	private Attempt(Callable<T> call) {
		this.thread = new Thread(() -> {
			try {
				T value = call.call();
				this.endedAt = System.nanoTime();
				this.result.complete(value);
			}
			catch (Throwable ex) {
				this.endedAt = System.nanoTime();
				this.result.completeExceptionally(ex);
			}
		}, "attempt");
		this.thread.setDaemon(true);
		this.thread.start();
	}

	static <T> Attempt<T> start(Callable<T> call) {
		return new Attempt<>(call);
	}

	static Attempt<LockLease> start(LockService locks, LockRequest request) {
		return start(() -> locks.acquire(request));
	}

	static Attempt<PermitLease> start(SemaphoreService semaphores, SemaphoreRequest request) {
		return start(() -> semaphores.acquire(request));
	}

	/** Call on another thread, and wait for the result. */
	static <T> T onAnotherThread(Callable<T> call) {
		return start(call).get();
	}

	void interrupt() {
		this.thread.interrupt();
	}

	boolean isDone() {
		return this.result.isDone();
	}

	/** Wait for the result, or throw the failure. */
	T get() {
		return get(Fleet.PATIENCE);
	}

	/** Wait for the result for some time, or throw the failure. */
	T get(Duration timeout) {
		try {
			return await(timeout);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof RuntimeException cause) {
				throw cause;
			}
			throw new AssertionError(ex.getCause());
		}
	}

	/** Wait for the failure. */
	Throwable failure() {
		try {
			throw new AssertionError("The result is no failure: " + await(Fleet.PATIENCE));
		}
		catch (ExecutionException ex) {
			return ex.getCause();
		}
	}

	/** Return the time of the end, by {@link System#nanoTime()}. */
	long endedAt() {
		return this.endedAt;
	}

	private T await(Duration timeout) throws ExecutionException {
		for (long parts = timeout.dividedBy(PART); parts > 0; parts--) {
			try {
				return this.result.get(PART.toNanos(), TimeUnit.NANOSECONDS);
			}
			catch (TimeoutException ex) {
				// Next part.
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new AssertionError(ex);
			}
		}
		throw new AssertionError("Not ended within " + timeout);
	}

}
