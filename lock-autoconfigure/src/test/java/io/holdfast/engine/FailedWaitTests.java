package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.async.DaemonThreads;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Waits that end by an exception: no code of the caller would release the lease.
 */
class FailedWaitTests {

	private static final String KEY = "stock";

	private final ThreadScheduler threads = new ThreadScheduler(new DaemonThreads());

	private final FailingScheduler scheduler = new FailingScheduler(this.threads);

	private final LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
			EngineSettings.defaults(), this.scheduler, this.threads.callbacks(),
			() -> "0123456789abcdef0123456789abcdef", Math::random);

	private final DefaultLockService locks = new DefaultLockService(this.engine);

	private final DefaultSemaphoreService semaphores = new DefaultSemaphoreService(this.engine);

	@AfterEach
	void close() {
		this.engine.close();
		this.threads.close();
	}

	static Stream<Arguments> waits() {
		return Stream.of( //
				Arguments.of("acquire", (Use) (test) -> test.locks.acquire(LockRequest.of(KEY))), //
				Arguments.of("tryAcquire", (Use) (test) -> test.locks.tryAcquire(LockRequest.of(KEY))), //
				Arguments.of("lock", (Use) (test) -> test.locks.asLock(KEY).lock()), //
				Arguments.of("tryLock", (Use) (test) -> test.locks.asLock(KEY).tryLock()), //
				Arguments.of("several keys",
						(Use) (test) -> test.locks.acquire(LockRequest.ofAll(List.of(KEY, "other")))), //
				Arguments.of("permits", (Use) (test) -> test.semaphores.acquire(SemaphoreRequest.of(KEY, 1))));
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("waits")
	@DisplayName("A granted lease is released")
	void granted(String name, Use use) {
		this.scheduler.failing = true;
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> use.by(this));
		this.scheduler.failing = false;
		await().until(this.engine::isIdle);
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("waits")
	@DisplayName("A waiting request is cancelled")
	void waiting(String name, Use use) {
		List<Lease> others = List.of(this.locks.acquire(LockRequest.of(KEY)),
				this.semaphores.acquire(SemaphoreRequest.of(KEY, 1)));
		CompletableFuture.runAsync(() -> {
			this.scheduler.failing = true;
			assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> use.by(this));
			this.scheduler.failing = false;
		}, (task) -> new Thread(task).start()).orTimeout(30, TimeUnit.SECONDS).join();
		others.forEach(Lease::release);
		await().until(this.engine::isIdle);
		assertThat(this.locks.status(KEY).isLocked()).isFalse();
	}

	/** A blocking use of a service. */
	@FunctionalInterface
	interface Use {

		void by(FailedWaitTests test);

	}

	private static final class FailingScheduler implements Scheduler {

		private final Scheduler scheduler;

		private volatile boolean failing;

		FailingScheduler(Scheduler scheduler) {
			this.scheduler = scheduler;
		}

		@Override
		public <T> T waitUntil(CompletableFuture<T> future, long until)
				throws InterruptedException, ExecutionException, TimeoutException {
			if (this.failing) {
				throw new LinkageError("on purpose");
			}
			return this.scheduler.waitUntil(future, until);
		}

		@Override
		public long nanoTime() {
			return this.scheduler.nanoTime();
		}

		@Override
		public Future<?> schedule(Runnable action, long delayNanos) {
			return this.scheduler.schedule(action, delayNanos);
		}

	}

}
