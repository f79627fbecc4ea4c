package io.holdfast.fleet;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;

/**
 * A call of acquire on a thread of its own.
 *
 * @param <L> the kind of lease that it is for
 */
final class Attempt<L extends Lease> {

	/** While this whole JVM stands still, only one of these goes by. */
	private static final Duration PART = Duration.ofMillis(50);

	private final CompletableFuture<L> result = new CompletableFuture<>();

	private final Thread thread;

	private volatile long endedAt;

	private Attempt(String key, Callable<L> acquire) {
		this.thread = new Thread(() -> {
			try {
				L lease = acquire.call();
				this.endedAt = System.nanoTime();
				this.result.complete(lease);
			}
			catch (Throwable ex) {
				this.endedAt = System.nanoTime();
				this.result.completeExceptionally(ex);
			}
		}, "attempt at " + key);
		this.thread.setDaemon(true);
		this.thread.start();
	}

	static Attempt<LockLease> start(LockService locks, LockRequest request) {
		return new Attempt<>(request.key(), () -> locks.acquire(request));
	}

	static Attempt<PermitLease> start(SemaphoreService semaphores, SemaphoreRequest request) {
		return new Attempt<>(request.key(), () -> semaphores.acquire(request));
	}

	void interrupt() {
		this.thread.interrupt();
	}

	boolean isDone() {
		return this.result.isDone();
	}

	/** Wait for the lease. */
	L lease() {
		return lease(Fleet.PATIENCE);
	}

	/** Wait for the lease, for so long. */
	L lease(Duration timeout) {
		return get(timeout);
	}

	/** Wait for the failure. */
	Throwable failure() {
		try {
			L lease = get(Fleet.PATIENCE);
			throw new AssertionError("It was granted: " + lease);
		}
		catch (FailedException ex) {
			return ex.getCause();
		}
	}

	/** When it ended, by {@link System#nanoTime()}. */
	long endedAt() {
		return this.endedAt;
	}

	private L get(Duration timeout) {
		try {
			for (long parts = timeout.dividedBy(PART); parts > 0; parts--) {
				try {
					return this.result.get(PART.toNanos(), TimeUnit.NANOSECONDS);
				}
				catch (TimeoutException ex) {
					// To be waited for again.
				}
			}
			throw new AssertionError(this.thread.getName() + " has not ended within " + timeout);
		}
		catch (ExecutionException ex) {
			throw new FailedException(ex.getCause());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError(ex);
		}
	}

	private static final class FailedException extends RuntimeException {

		private static final long serialVersionUID = 1L;

		FailedException(Throwable cause) {
			super("The attempt failed", cause);
		}

	}

}
