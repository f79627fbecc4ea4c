package io.holdfast;

import java.io.IOException;
import java.time.Duration;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Code that services run with a lease, in one of two instances.
 */
@WithRedis
class WithLockTests {

	private static ConfigurableApplicationContext instance;

	private static ConfigurableApplicationContext other;

	private static LockService locks;

	private static LockService others;

	private static SemaphoreService semaphores;

	private final TransactionTemplate transaction = new TransactionTemplate(new TestTransactions());

	private String key = "";

	@BeforeAll
	static void start(TestRedis redis) {
		instance = TestApplication.start(redis);
		other = TestApplication.start(redis);
		locks = instance.getBean(LockService.class);
		others = other.getBean(LockService.class);
		semaphores = instance.getBean(SemaphoreService.class);
	}

	@BeforeEach
	void name(TestInfo test) {
		this.key = test.getTestMethod().orElseThrow().getName();
	}

	private boolean isFree() {
		Optional<LockLease> lease = others.tryAcquire(this.key);
		lease.ifPresent(Lease::release);
		return lease.isPresent();
	}

	/**
	 * Wait until Redis has run the release, which no caller waits for.
	 */
	private void awaitFree() {
		await("release").atMost(Duration.ofSeconds(10)).until(this::isFree);
	}

	private SemaphoreRequest permit() {
		return SemaphoreRequest.of(this.key, 1);
	}

	private boolean isPermitFree() {
		Optional<PermitLease> lease = other.getBean(SemaphoreService.class).tryAcquire(permit());
		lease.ifPresent(Lease::release);
		return lease.isPresent();
	}

	private int fail() throws IOException {
		throw new IOException("of the code");
	}

	@Test
	@DisplayName("Code runs with the lock, finds its lease, and gives its value; then the lock is released")
	void value() {
		String value = locks.withLock(this.key, () -> {
			assertThat(LockLease.current().key()).isEqualTo(this.key);
			assertThat(LockLease.current().isHeld()).isTrue();
			assertThat(isFree()).isFalse();
			return "value";
		});
		assertThat(value).isEqualTo("value");
		awaitFree();
		assertThat(LeaseContext.current().leases()).isEmpty();
		AtomicInteger runs = new AtomicInteger();
		locks.withLock(this.key, () -> {
			runs.incrementAndGet();
		});
		assertThat(runs).hasValue(1);
		awaitFree();
	}

	@Test
	@DisplayName("A checked exception of the code is its caller's, unchanged, and the lock is released")
	void checkedException() {
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> locks.withLock(this.key, this::fail))
			.withMessage("of the code");
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> locks.tryWithLock(this.key, this::fail))
			.withMessage("of the code");
		awaitFree();
		assertThat(LeaseContext.current().leases()).isEmpty();
	}

	@Test
	@DisplayName("Without the lock, withLock throws and tryWithLock says so; the code does not run")
	void notAcquired() {
		LockRequest request = LockRequest.of(this.key).waitTime(Duration.ofMillis(1));
		try (LockLease lease = others.acquire(this.key)) {
			assertThatExceptionOfType(LockNotAcquiredException.class)
				.isThrownBy(() -> locks.withLock(request, this::fail));
			AtomicInteger runs = new AtomicInteger();
			LeasedResult<Integer> result = locks.tryWithLock(this.key, runs::incrementAndGet);
			assertThat(result.isAcquired()).isFalse();
			assertThat(result.orElse(-1)).isEqualTo(-1);
			assertThat(result.orElseGet(() -> -2)).isEqualTo(-2);
			assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(result::get)
				.withMessageContaining("the code has not run");
			assertThat(locks.tryWithLock(request, runs::incrementAndGet)).isEqualTo(LeasedResult.notAcquired());
			boolean run = locks.tryWithLock(this.key, () -> {
				runs.incrementAndGet();
			});
			assertThat(run).isFalse();
			assertThat(runs).hasValue(0);
			assertThat(lease.isHeld()).isTrue();
		}
	}

	@Test
	@DisplayName("An attempt does not wait, unless its request has a wait time")
	void triedOnce() throws Exception {
		LockRequest request = LockRequest.of(this.key);
		ReactiveLockService reactive = instance.getBean(ReactiveLockService.class);
		try (LockLease lease = others.acquire(this.key)) {
			long start = System.nanoTime();
			assertThat(locks.tryAcquire(request)).isEmpty();
			assertThat(locks.tryAcquireAsync(request).get(10, TimeUnit.SECONDS)).isEmpty();
			assertThat(reactive.tryAcquire(request).blockOptional()).isEmpty();
			assertThat(locks.tryWithLock(request, () -> 1).isAcquired()).isFalse();
			assertThat(Duration.ofNanos(System.nanoTime() - start)).as("of a default wait time of 10 s")
				.isLessThan(Duration.ofSeconds(8));
			CompletableFuture<Optional<LockLease>> patient = locks
				.tryAcquireAsync(request.waitTime(Duration.ofSeconds(30)));
			lease.release();
			assertThat(patient.get(10, TimeUnit.SECONDS)).hasValueSatisfying(Lease::close);
		}
	}

	@Test
	@DisplayName("A null value differs from no run")
	void nullValue() {
		LeasedResult<@Nullable String> result = locks.tryWithLock(this.key, () -> null);
		assertThat(result.isAcquired()).isTrue();
		assertThat(result.get()).isNull();
		assertThat(result.orElse("other")).isNull();
		assertThat(result).isNotEqualTo(LeasedResult.notAcquired()).isEqualTo(LeasedResult.of(null));
		boolean run = locks.tryWithLock(this.key, () -> {
		});
		assertThat(run).isTrue();
	}

	@Test
	@DisplayName("A failed acquisition inside the code is not taken for the lock around the code")
	void innerLock() {
		try (LockLease lease = others.acquire("inner lock")) {
			LockRequest inner = LockRequest.of("inner lock").waitTime(Duration.ZERO);
			assertThatExceptionOfType(LockNotAcquiredException.class)
				.isThrownBy(() -> locks.tryWithLock(this.key, () -> locks.acquire(inner)))
				.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo("inner lock"));
			assertThat(lease.isHeld()).isTrue();
		}
	}

	@Test
	@DisplayName("The code may acquire its lock again, on its thread and asynchronously")
	void nested() throws Exception {
		String value = locks.withLock(this.key,
				() -> locks.withLock(this.key,
						() -> locks.withLockAsync(this.key, () -> CompletableFuture.completedFuture("nested"))
							.get(10, TimeUnit.SECONDS)));
		assertThat(value).isEqualTo("nested");
		awaitFree();
	}

	@Test
	@DisplayName("In a transaction the lock is held until its commit or rollback, also if the code fails")
	void transaction() {
		this.transaction.executeWithoutResult((status) -> {
			assertThat(locks.withLock(this.key, () -> 1)).isEqualTo(1);
			assertThat(LeaseContext.current().leases()).isEmpty();
			assertThat(isFree()).isFalse();
		});
		awaitFree();
		this.transaction.executeWithoutResult((status) -> {
			assertThat(locks.tryWithLock(this.key, () -> {
			})).isTrue();
			status.setRollbackOnly();
			assertThat(isFree()).isFalse();
		});
		awaitFree();
		this.transaction.executeWithoutResult((status) -> {
			assertThatExceptionOfType(IOException.class).isThrownBy(() -> locks.withLock(this.key, this::fail));
			assertThat(isFree()).isFalse();
		});
		awaitFree();
	}

	@Test
	@DisplayName("A lock inside of which a transaction begins is released when the code has ended")
	void transactionInside() {
		locks.withLock(this.key, () -> this.transaction.executeWithoutResult((status) -> {
		}));
		awaitFree();
	}

	@Test
	@DisplayName("Asynchronous code holds its lock until its stage is completed, and runs on no thread of its caller")
	void asynchronous() throws Exception {
		CompletableFuture<String> stage = new CompletableFuture<>();
		AtomicReference<Thread> thread = new AtomicReference<>();
		AtomicReference<String> held = new AtomicReference<>();
		CompletableFuture<String> result = locks.withLockAsync(this.key, () -> {
			thread.set(Thread.currentThread());
			held.set(LockLease.current().key());
			return stage;
		});
		await().until(() -> held.get() != null);
		assertThat(held).hasValue(this.key);
		assertThat(thread.get()).isNotSameAs(Thread.currentThread());
		assertThat(isFree()).isFalse();
		assertThat(result).isNotDone();
		stage.complete("value");
		assertThat(result.get(10, TimeUnit.SECONDS)).isEqualTo("value");
		awaitFree();
	}

	@Test
	@DisplayName("A failure of asynchronous code is its caller's, and the lock is released before")
	void asynchronousFailure() {
		CompletableFuture<String> failing = CompletableFuture.failedFuture(new IOException("of the stage"));
		assertThat(locks.withLockAsync(this.key, () -> failing)).failsWithin(Duration.ofSeconds(10))
			.withThrowableThat()
			.withCauseInstanceOf(IOException.class)
			.withMessageContaining("of the stage");
		awaitFree();
		assertThat(locks.<String>withLockAsync(this.key, () -> {
			throw new IllegalStateException("no stage");
		})).failsWithin(Duration.ofSeconds(10)).withThrowableThat().withMessageContaining("no stage");
		awaitFree();
	}

	@Test
	@DisplayName("Cancelling the result ends the wait; code that runs keeps the lock until its stage is completed")
	void cancelled() {
		CompletableFuture<String> stage = new CompletableFuture<>();
		CompletableFuture<String> running = locks.withLockAsync(this.key, () -> stage);
		await().until(() -> stage.getNumberOfDependents() == 1);
		AtomicInteger runs = new AtomicInteger();
		CompletableFuture<Integer> waiting = locks.withLockAsync(this.key,
				() -> CompletableFuture.completedFuture(runs.incrementAndGet()));
		waiting.cancel(true);
		running.cancel(true);
		assertThat(isFree()).isFalse();
		assertThat(stage.complete("late")).isTrue();
		await().until(this::isFree);
		assertThat(runs).hasValue(0);
	}

	@Test
	@DisplayName("Asynchronous code that may not have its lock does not run")
	void tryAsynchronous() throws Exception {
		AtomicInteger runs = new AtomicInteger();
		try (LockLease lease = others.acquire(this.key)) {
			LeasedResult<Integer> result = locks
				.tryWithLockAsync(LockRequest.of(this.key).waitTime(Duration.ZERO),
						() -> CompletableFuture.completedFuture(runs.incrementAndGet()))
				.get(10, TimeUnit.SECONDS);
			assertThat(result.isAcquired()).isFalse();
			assertThat(runs).hasValue(0);
			assertThat(lease.isHeld()).isTrue();
		}
		awaitFree();
		LeasedResult<Integer> result = locks
			.tryWithLockAsync(LockRequest.of(this.key), () -> CompletableFuture.completedFuture(runs.incrementAndGet()))
			.get(10, TimeUnit.SECONDS);
		assertThat(result.get()).isEqualTo(1);
		awaitFree();
	}

	@Test
	@DisplayName("In a transaction of its caller, asynchronous code keeps its lock until both have ended")
	void asynchronousInTransaction() throws Exception {
		this.transaction.executeWithoutResult((status) -> {
			assertThat(locks.withLockAsync(this.key, () -> CompletableFuture.completedFuture(1)))
				.succeedsWithin(Duration.ofSeconds(10));
			assertThat(isFree()).isFalse();
		});
		awaitFree();
		CompletableFuture<String> stage = new CompletableFuture<>();
		CountDownLatch running = new CountDownLatch(1);
		AtomicReference<CompletableFuture<String>> result = new AtomicReference<>();
		this.transaction.executeWithoutResult((status) -> result.set(locks.withLockAsync(this.key, () -> {
			running.countDown();
			return stage;
		})));
		assertThat(running.await(10, TimeUnit.SECONDS)).isTrue();
		assertThat(isFree()).isFalse();
		stage.complete("late");
		assertThat(result.get().get(10, TimeUnit.SECONDS)).isEqualTo("late");
		awaitFree();
	}

	@Test
	@DisplayName("Code runs with permits, which come back after the code, also in a transaction")
	void permits() throws Exception {
		this.transaction.executeWithoutResult((status) -> {
			String value = semaphores.withPermits(permit(), () -> {
				assertThat(isPermitFree()).isFalse();
				return PermitLease.current().key();
			});
			assertThat(value).isEqualTo(this.key);
			await().until(this::isPermitFree);
		});
		CompletableFuture<String> stage = new CompletableFuture<>();
		CompletableFuture<String> result = semaphores.withPermitsAsync(permit(), () -> stage);
		await().until(() -> !isPermitFree());
		AtomicInteger runs = new AtomicInteger();
		assertThat(semaphores.tryWithPermits(permit(), runs::incrementAndGet).isAcquired()).isFalse();
		boolean run = semaphores.tryWithPermits(permit(), () -> {
			runs.incrementAndGet();
		});
		assertThat(run).isFalse();
		assertThat(semaphores
			.tryWithPermitsAsync(permit(), () -> CompletableFuture.completedFuture(runs.incrementAndGet()))
			.get(10, TimeUnit.SECONDS)
			.isAcquired()).isFalse();
		assertThatExceptionOfType(PermitNotAcquiredException.class)
			.isThrownBy(() -> semaphores.withPermits(permit(), this::fail));
		assertThat(runs).hasValue(0);
		stage.complete("value");
		assertThat(result.get(10, TimeUnit.SECONDS)).isEqualTo("value");
		assertThat(semaphores.tryWithPermits(permit(), runs::incrementAndGet).get()).isEqualTo(1);
		semaphores.withPermits(permit(), () -> {
			runs.incrementAndGet();
		});
		assertThat(runs).hasValue(2);
		await().until(this::isPermitFree);
	}

}
