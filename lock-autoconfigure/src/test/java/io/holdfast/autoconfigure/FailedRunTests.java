package io.holdfast.autoconfigure;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.ReactiveTestTransactions;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * Runs that fail under a lock or permits with a {@code minHold}, and their retries.
 */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FailedRunTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final ConfigurableApplicationContext context;

	private final Work work;

	private final Jobs jobs;

	private final LockService locks;

	FailedRunTests(TestRedis redis) {
		this.context = TestApplication.start(redis, Jobs.class, "holdfast.redis.command-timeout=5s");
		this.work = this.context.getBean(Work.class);
		this.jobs = this.context.getBean(Jobs.class);
		this.locks = this.context.getBean(LockService.class);
	}

	/** Leases outlast their test by their minHold. */
	@AfterEach
	void release() {
		Stream.of("job", "a", "b", "service", "around", "nested", "other").forEach(this.locks.admin()::forceRelease);
		Stream.of("rate", "short", "service")
			.forEach(this.context.getBean(SemaphoreService.class).admin()::forceRelease);
		this.work.forget();
	}

	interface FutureCall {

		CompletableFuture<?> of(Jobs jobs) throws Exception;

	}

	interface Call {

		@Nullable Object of(Jobs jobs) throws Exception;

	}

	private static Arguments kind(String name, Call call) {
		return Arguments.of(Named.of(name, call));
	}

	private static Call later(FutureCall call) {
		return (jobs) -> {
			try {
				return call.of(jobs).join();
			}
			catch (CompletionException ex) {
				throw (ex.getCause() instanceof Exception cause) ? cause : ex;
			}
		};
	}

	private static <T> Call reactive(Function<Jobs, Mono<T>> call) {
		return later((jobs) -> call.apply(jobs).timeout(SOON).toFuture());
	}

	static Stream<Arguments> locked() {
		return Stream.of(kind("plain", Jobs::locked), kind("future", later(Jobs::lockedFuture)),
				kind("Mono", reactive(Jobs::lockedMono)));
	}

	@ParameterizedTest
	@MethodSource("locked")
	@DisplayName("The minHold of a lock does not apply to a failed run, and applies to a successful run")
	void lock(Call call) {
		this.work.failures(1);
		assertThat(catchThrowable(() -> call.of(this.jobs))).isExactlyInstanceOf(IOException.class);
		assertThat(catchThrowable(() -> assertThat(call.of(this.jobs)).isEqualTo("done 2"))).isNull();
		assertThat(catchThrowable(() -> assertThat(call.of(this.jobs)).isNull())).isNull();
		assertThat(this.work.runs).hasValue(2);
	}

	static Stream<Arguments> retriedLocks() {
		return Stream.of(kind("one key", Jobs::retriedLock), kind("several keys", Jobs::retriedLocks));
	}

	@ParameterizedTest
	@MethodSource("retriedLocks")
	@DisplayName("A retry of a failed run under a lock with minHold runs")
	void retriedLock(Call call) throws Exception {
		this.work.failures(1);
		assertThat(call.of(this.jobs)).isEqualTo("done 2");
	}

	static Stream<Arguments> retriedPermits() {
		return Stream.of(kind("plain", Jobs::retriedPermit),
				kind("retry()", reactive((jobs) -> jobs.permitMono().retry(2))),
				kind("lock inside", Jobs::retriedPermitAndLock));
	}

	@ParameterizedTest
	@MethodSource("retriedPermits")
	@DisplayName("The minHold of permits applies to a failed run, too: its retries fail with the failure of that run")
	void retriedPermit(Call call) {
		this.work.failures(3);
		Throwable thrown = catchThrowable(() -> call.of(this.jobs));
		// Reactor's retry with a back-off wraps the last failure.
		Throwable failure = (thrown instanceof IOException) ? thrown : thrown.getCause();
		assertThat(failure).isExactlyInstanceOf(IOException.class).hasMessage("run 1");
		assertThat(failure.getSuppressed()).hasAtLeastOneElementOfType(PermitNotAcquiredException.class);
		assertThat(this.work.runs).hasValue(1);
	}

	@Test
	@DisplayName("A call that is no retry of the failed run is skipped, or fails with the reason")
	void otherCalls() throws Exception {
		this.work.failures(1);
		assertThat(catchThrowable(this.jobs::retriedPermit)).isInstanceOf(IOException.class);
		assertThat(this.jobs.retriedPermit()).isNull();
		assertThat(this.jobs.retriedPermitOrFallback()).isEqualTo("instead");
		assertThat(catchThrowable(this.jobs::retriedPermitOrException)).isInstanceOf(PermitNotAcquiredException.class)
			.hasNoCause();
		assertThat(this.jobs.permitMono().block(SOON)).isNull();
	}

	@Test
	@DisplayName("The next run of a scheduled method is no retry of the failed run: it is skipped")
	void scheduled() {
		this.work.failures(1);
		Mono<String> runs = this.jobs.scheduledPermitMono();
		assertThat(catchThrowable(() -> runs.block(SOON))).hasCauseInstanceOf(IOException.class);
		assertThat(runs.block(SOON)).isNull();
		assertThat(this.work.runs).hasValue(1);
	}

	@Test
	@DisplayName("A retry after the minHold of its permits is skipped if other callers hold them by then")
	void retriedAfterMinHold() throws Exception {
		this.work.failures(1);
		SemaphoreService semaphores = this.context.getBean(SemaphoreService.class);
		this.work.onFailure(() -> semaphores.acquireAsync(SemaphoreRequest.of("short", 1).waitTime(SOON)));
		assertThat(this.jobs.retriedShortPermit()).isNull();
		assertThat(this.work.runs).hasValue(1);
	}

	@Test
	@DisplayName("A cancelled chain counts as failed: its lock is free at once")
	void cancelled() {
		this.jobs.never().subscribe().dispose();
		await().atMost(SOON).until(() -> isFree("job"));
		Disposable running = this.jobs.never().subscribe();
		await().atMost(SOON).until(() -> this.locks.status("job").isLocked());
		running.dispose();
		await().atMost(SOON).until(() -> isFree("job"));
	}

	@Test
	@DisplayName("In a transaction that keeps the lock, the last run decides")
	void inTransaction() {
		TransactionTemplate transaction = new TransactionTemplate(this.context.getBean(TestTransactions.class));
		this.work.failures(1);
		transaction.executeWithoutResult(
				(status) -> assertThat(catchThrowable(this.jobs::locked)).isInstanceOf(IOException.class));
		assertThat(isFree("job")).isTrue();
		this.work.failures(1);
		transaction.executeWithoutResult((status) -> assertThat(catchThrowable(this.jobs::retriedLock)).isNull());
		assertThat(this.work.runs).hasValue(3);
		assertThat(isFree("job")).isFalse();
	}

	@Test
	@DisplayName("In a transaction that keeps the lock, several failed runs leave it free")
	void failingInTransaction() {
		TransactionTemplate transaction = new TransactionTemplate(this.context.getBean(TestTransactions.class));
		this.work.failures(3);
		transaction.executeWithoutResult(
				(status) -> assertThat(catchThrowable(this.jobs::retriedLock)).isInstanceOf(IOException.class));
		assertThat(this.work.runs).hasValue(3);
		assertThat(isFree("job")).isTrue();
		this.work.failures(1);
		LockRequest job = request("service");
		assertThat(catchThrowable(() -> transaction.executeWithoutResult((status) -> this.locks.withLock(job, () -> {
			throw new IllegalStateException("rolled back");
		})))).isInstanceOf(IllegalStateException.class);
		assertThat(isFree("service")).isTrue();
	}

	@Test
	@DisplayName("A rolled-back transaction frees its locks although their runs succeeded; a transaction with unknown result does not")
	void rolledBack() {
		TransactionTemplate transaction = new TransactionTemplate(this.context.getBean(TestTransactions.class));
		transaction.executeWithoutResult((status) -> {
			assertThat(catchThrowable(this.jobs::locked)).isNull();
			this.locks.withLock(request("service"), status::setRollbackOnly);
		});
		assertThat(this.work.runs).hasValue(1);
		assertThat(isFree("job")).isTrue();
		assertThat(isFree("service")).isTrue();
		LockRequest around = request("around");
		this.locks.withLock(around, () -> transaction
			.executeWithoutResult((status) -> this.locks.withLock(around, status::setRollbackOnly)));
		assertThat(isFree("around")).isFalse();
		TransactionTemplate unknown = new TransactionTemplate(new TestTransactions((event) -> {
			if (event.equals("commit")) {
				throw new TransactionSystemException("no answer");
			}
		}));
		assertThat(catchThrowable(
				() -> unknown.executeWithoutResult((status) -> assertThat(catchThrowable(this.jobs::locked)).isNull())))
			.isInstanceOf(TransactionSystemException.class);
		assertThat(isFree("job")).isFalse();
	}

	@Test
	@DisplayName("A rolled-back reactive transaction frees its locks, too")
	void rolledBackChain() {
		TransactionalOperator transaction = TransactionalOperator.create(new ReactiveTestTransactions((event) -> {
		}));
		String result = transaction
			.execute((status) -> this.jobs.lockedMono().doOnNext((value) -> status.setRollbackOnly()))
			.blockLast(SOON);
		assertThat(result).isEqualTo("done 1");
		await().atMost(SOON).until(() -> isFree("job"));
		assertThat(transaction.execute((status) -> this.jobs.lockedMono()).blockLast(SOON)).isEqualTo("done 2");
		assertThat(isFree("job")).isFalse();
	}

	@Test
	@DisplayName("A failed nested run does not end the minHold of the outer run, nor does a successful nested run restore it")
	void nested() throws Exception {
		LockRequest job = request("nested");
		this.locks.withLock(job, () -> {
			assertThat(catchThrowable(() -> this.locks.withLock(job, () -> {
				throw new IOException("inner");
			}))).isInstanceOf(IOException.class);
		});
		assertThat(isFree("nested")).isFalse();
		LockRequest other = request("other");
		assertThat(catchThrowable(() -> this.locks.withLock(other, () -> {
			this.locks.withLock(other, () -> {
			});
			throw new IOException("outer");
		}))).isInstanceOf(IOException.class);
		assertThat(isFree("other")).isTrue();
	}

	static Stream<Arguments> services() {
		return Stream.of(service("withLock", (locks, request, body) -> locks.withLock(request, body::call)),
				service("tryWithLock", (locks, request, body) -> locks.tryWithLock(request, body::call)),
				service("withLockAsync",
						(locks, request, body) -> locks.withLockAsync(request, () -> stage(body)).join()),
				service("tryWithLockAsync",
						(locks, request, body) -> locks.tryWithLockAsync(request, () -> stage(body)).join()),
				service("Mono",
						(locks, request, body) -> new ReactiveLockService(locks)
							.withLock(request, Mono.fromCallable(body))
							.block(SOON)));
	}

	private static CompletableFuture<String> stage(Callable<String> body) {
		try {
			return CompletableFuture.completedFuture(body.call());
		}
		catch (Exception ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	interface ServiceCall {

		void run(LockService locks, LockRequest request, Callable<String> body) throws Exception;

	}

	private static Arguments service(String name, ServiceCall call) {
		return Arguments.of(Named.of(name, call));
	}

	@ParameterizedTest
	@MethodSource("services")
	@DisplayName("The same rule applies to code that services run with a lock")
	void service(ServiceCall call) throws Exception {
		LockRequest job = request("service");
		this.work.failures(1);
		assertThat(catchThrowable(() -> call.run(this.locks, job, this.work::run))).isNotNull();
		assertThat(this.work.runs).hasValue(1);
		call.run(this.locks, job, this.work::run);
		assertThat(this.work.runs).hasValue(2);
		assertThat(isFree("service")).isFalse();
	}

	@Test
	@DisplayName("Permits of a service are kept for any end of its code")
	void permitService() {
		SemaphoreService semaphores = this.context.getBean(SemaphoreService.class);
		SemaphoreRequest once = SemaphoreRequest.of("service", 1).minHold(Duration.ofMinutes(1));
		this.work.failures(1);
		assertThat(catchThrowable(() -> semaphores.withPermits(once, this.work::run))).isInstanceOf(IOException.class);
		assertThat(semaphores.tryAcquire(once)).isEmpty();
	}

	private static LockRequest request(String key) {
		return LockRequest.of(key).minHold(Duration.ofMinutes(1)).waitTime(Duration.ZERO);
	}

	private boolean isFree(String key) {
		Optional<LockLease> lease = this.locks.tryAcquire(key);
		lease.ifPresent(LockLease::release);
		return lease.isPresent();
	}

	/** Work of the jobs, with a given number of failures. */
	static class Work {

		final AtomicInteger runs = new AtomicInteger();

		private final AtomicInteger failures = new AtomicInteger();

		private volatile Runnable onFailure = () -> {
		};

		void forget() {
			this.runs.set(0);
			this.failures.set(0);
			this.onFailure = () -> {
			};
		}

		void failures(int failures) {
			this.failures.set(failures);
		}

		void onFailure(Runnable onFailure) {
			this.onFailure = onFailure;
		}

		String run() throws IOException {
			int run = this.runs.incrementAndGet();
			if (this.failures.getAndDecrement() > 0) {
				this.onFailure.run();
				throw new IOException("run " + run);
			}
			return "done " + run;
		}

	}

	@EnableResilientMethods
	@Import({ TestTransactions.class, Work.class })
	static class Jobs {

		@Autowired
		private Work work;

		@DistributedLock(name = "job", waitTime = "0", minHold = "1m", onTimeout = OnTimeout.SKIP)
		public @Nullable String locked() throws IOException {
			return this.work.run();
		}

		@DistributedLock(name = "job", waitTime = "0", minHold = "1m", onTimeout = OnTimeout.SKIP)
		public CompletableFuture<String> lockedFuture() {
			return stage(this.work::run);
		}

		@DistributedLock(name = "job", waitTime = "0", minHold = "1m", onTimeout = OnTimeout.SKIP)
		public Mono<String> lockedMono() {
			return Mono.fromCallable(this.work::run);
		}

		@DistributedLock(name = "job", waitTime = "0", minHold = "1m", onTimeout = OnTimeout.SKIP)
		public Mono<String> never() {
			return Mono.never();
		}

		@Retryable(maxRetries = 2, delay = 1)
		@DistributedLock(name = "job", waitTime = "0", minHold = "1m", onTimeout = OnTimeout.SKIP)
		public @Nullable String retriedLock() throws IOException {
			return this.work.run();
		}

		@Retryable(maxRetries = 2, delay = 1)
		@DistributedLock(key = "{'a', 'b'}", waitTime = "0", minHold = "1m", onTimeout = OnTimeout.SKIP)
		public @Nullable String retriedLocks() throws IOException {
			return this.work.run();
		}

		private String instead() {
			return "instead";
		}

		@Retryable(maxRetries = 2, delay = 1)
		@Semaphore(name = "rate", limit = 1, minHold = "1m", onTimeout = OnTimeout.SKIP)
		public @Nullable String retriedPermit() throws IOException {
			return this.work.run();
		}

		@Retryable(maxRetries = 2, delay = 1)
		@Semaphore(name = "rate", limit = 1, minHold = "1m", fallback = "instead")
		public String retriedPermitOrFallback() throws IOException {
			return this.work.run();
		}

		@Retryable(maxRetries = 2, delay = 1)
		@Semaphore(name = "rate", limit = 1, minHold = "1m")
		public String retriedPermitOrException() throws IOException {
			return this.work.run();
		}

		@Retryable(maxRetries = 2, delay = 1)
		@Semaphore(name = "rate", limit = 1, minHold = "1m", onTimeout = OnTimeout.SKIP)
		@DistributedLock(name = "job", minHold = "1m")
		public @Nullable String retriedPermitAndLock() throws IOException {
			return this.work.run();
		}

		@Retryable(maxRetries = 1, delay = 300)
		@Semaphore(name = "short", limit = 1, minHold = "200ms", onTimeout = OnTimeout.SKIP)
		public @Nullable String retriedShortPermit() throws IOException {
			return this.work.run();
		}

		@Semaphore(name = "rate", limit = 1, minHold = "1m", onTimeout = OnTimeout.SKIP)
		public Mono<String> permitMono() {
			return Mono.fromCallable(this.work::run);
		}

		@Scheduled(fixedRate = 1, timeUnit = TimeUnit.DAYS)
		@Semaphore(name = "rate", limit = 1, minHold = "1m", onTimeout = OnTimeout.SKIP)
		public Mono<String> scheduledPermitMono() {
			return Mono.fromCallable(this.work::run);
		}

	}

}
