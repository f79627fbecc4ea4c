package io.holdfast.faults;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.LeaseEngine;

import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A running application, as seen by its own code.
 */
record Instance(ConfigurableApplicationContext context) implements AutoCloseable {

	LockService locks() {
		return this.context.getBean(LockService.class);
	}

	SemaphoreService semaphores() {
		return this.context.getBean(SemaphoreService.class);
	}

	LeaseEngine engine() {
		return this.context.getBean(LeaseEngine.class);
	}

	/** Wait until wake-ups are received, in a cluster from all masters. */
	void awaitListening() {
		await("a subscription").atMost(Fleet.SOON.multipliedBy(3)).until(() -> engine().status().listening());
	}

	/**
	 * Check that another instance waits for a lock of this instance, and is granted the
	 * lock.
	 */
	void assertHandsOverTo(Instance other) {
		LockRequest request = LockRequest.of("handed-over").waitForever().leaseTime(Duration.ofMinutes(1));
		LockLease held = acquire(request);
		assertThat(other.tryAcquire(request.key())).isEmpty();
		CompletableFuture<LockLease> next = other.acquireInBackground(request);
		await("a waiter in the queue").atMost(Fleet.SOON).until(() -> locks().status(request.key()).waiting() == 1);
		assertThat(next).isNotDone();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(tryAcquire(request.key())).as("free between the two").isEmpty();
		assertThat(next).succeedsWithin(Fleet.SOON).satisfies((lease) -> {
			assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
	}

	LockLease acquire(String key) {
		return locks().acquire(key);
	}

	LockLease acquire(LockRequest request) {
		return locks().acquire(request);
	}

	PermitLease acquire(SemaphoreRequest request) {
		return semaphores().acquire(request);
	}

	Optional<LockLease> tryAcquire(String key) {
		return locks().tryAcquire(key);
	}

	/** Acquire on another thread, like most code that waits. */
	CompletableFuture<LockLease> acquireInBackground(LockRequest request) {
		return inBackground(() -> acquire(request));
	}

	/** Acquire on another thread, like most code that waits. */
	CompletableFuture<PermitLease> acquireInBackground(SemaphoreRequest request) {
		return inBackground(() -> acquire(request));
	}

	/**
	 * Run work on a new thread.
	 * @param work the work
	 * @return its result to come
	 */
	static <T> CompletableFuture<T> inBackground(Callable<T> work) {
		CompletableFuture<T> result = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			try {
				result.complete(work.call());
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}, "test-background");
		thread.setDaemon(true);
		thread.start();
		return result;
	}

	/**
	 * Send each script once, so that Redis knows the scripts and the connection is open.
	 */
	void warmUp() {
		try (LockLease lease = acquire("warm-up")) {
			lease.extend(Duration.ofSeconds(40));
			lease.release();
		}
	}

	@Override
	public void close() {
		this.context.close();
	}

}
