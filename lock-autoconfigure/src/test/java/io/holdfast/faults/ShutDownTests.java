package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * An application shuts down with held locks, waiters and new requests.
 */
@ExtendWith(OutputCaptureExtension.class)
class ShutDownTests extends FaultTestCase {

	private static final String KEY = "shut-down";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(Duration.ofMinutes(1));

	private static final String LONG_SHUT_DOWN = "spring.lifecycle.timeout-per-shutdown-phase=20s";

	private static CompletableFuture<Boolean> closeInBackground(Instance instance) {
		return Instance.inBackground(() -> {
			instance.close();
			return true;
		});
	}

	private static void awaitShuttingDown(LockService locks) {
		await("the beginning of the shut-down").atMost(SOON)
			.until(() -> isRefused(locks, LockRequest.of("refused").waitTime(Duration.ofSeconds(10))));
	}

	private static boolean isRefused(LockService locks, LockRequest request) {
		try {
			locks.acquire(request).close();
			return false;
		}
		catch (LockNotAcquiredException ex) {
			return ex.getReason() == Reason.SHUTDOWN;
		}
	}

	private static void assertRefused(CompletableFuture<? extends Lease> waiting) {
		assertThat(waiting).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOfSatisfying(LockNotAcquiredException.class,
					(ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
	}

	@Test
	@DisplayName("While work in flight holds a lock, new requests and waiters fail, and the lock is renewed until its"
			+ " release")
	void workInFlight(CapturedOutput output) {
		Instance instance = this.fleet.start(LONG_SHUT_DOWN);
		LockService locks = instance.locks();
		LockLease lease = locks.acquire(REQUEST.leaseTime(Duration.ofSeconds(2)));
		CompletableFuture<LockLease> waitingHere = instance.acquireInBackground(REQUEST);
		LockLease other = this.fleet.start().acquire(LockRequest.of("other"));
		CompletableFuture<LockLease> waitingInRedis = instance
			.acquireInBackground(LockRequest.of("other").waitTime(Duration.ofMinutes(1)));
		this.fleet.awaitQueued("other");
		CompletableFuture<Boolean> closing = closeInBackground(instance);
		awaitShuttingDown(locks);
		assertRefused(waitingHere);
		assertRefused(waitingInRedis);
		await("an empty queue").atMost(SOON).until(() -> this.fleet.queued("other") == 0);
		await("renewed beyond its lease").during(Duration.ofSeconds(3))
			.atMost(SOON)
			.until(() -> lease.isHeld() && this.fleet.isLocked(KEY));
		assertThat(closing).isNotDone();
		assertThat(output).contains("Waiting up to 16000 ms for leases that are held: lock '" + KEY + "'");
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(closing).succeedsWithin(SOON);
		other.release();
		this.fleet.awaitNothingLeft();
	}

	private static boolean awaitZero(CountDownLatch latch) {
		try {
			return latch.await(SOON.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			throw new AssertionError(ex);
		}
	}

	@Test
	@DisplayName("An idle application closes at once, and an old lease's release afterwards does no harm")
	void idle(CapturedOutput output) {
		Instance instance = this.fleet.start(LONG_SHUT_DOWN, "spring.data.redis.lettuce.pool.enabled=false");
		LockLease lease = instance.acquire(REQUEST);
		LockService locks = instance.locks();
		lease.release();
		this.fleet.awaitListening(1);
		long start = System.nanoTime();
		instance.close();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SOON);
		assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertThat(isRefused(locks, REQUEST)).isTrue();
		assertThat(output).doesNotContain("already closed").doesNotContain("for the locks that are held");
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A task of the application's executor still gets a lock while the executor is stopped")
	void executorsEndFirst() {
		Instance instance = this.fleet.start(Tasks.class, LONG_SHUT_DOWN);
		Tasks.Worker worker = instance.context().getBean(Tasks.Worker.class);
		ThreadPoolTaskExecutor executor = instance.context().getBean(ThreadPoolTaskExecutor.class);
		CountDownLatch go = new CountDownLatch(1);
		CompletableFuture<ReleaseResult> work = worker.lockAfter(go);
		await("the task runs").atMost(SOON).until(() -> executor.getActiveCount() == 1);
		CompletableFuture<Boolean> closing = closeInBackground(instance);
		await("the executor is being stopped").atMost(SOON).until(() -> !executor.isRunning());
		// All other components of the same phase have been stopped by then.
		await("still waiting for the task").during(Duration.ofMillis(500)).atMost(SOON).until(() -> !closing.isDone());
		go.countDown();
		assertThat(work).succeedsWithin(SOON).isEqualTo(ReleaseResult.RELEASED);
		assertThat(closing).succeedsWithin(SOON);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A stopped context refuses, and a restarted context locks and is woken up")
	void stopAndStart() {
		Instance instance = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		Instance other = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		instance.acquire(REQUEST).release();
		this.fleet.awaitListening(2);
		instance.context().stop();
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> instance.acquire(REQUEST))
			.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SHUTDOWN));
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> instance.semaphores().admin().setLimit(KEY, 1))
			.withMessageEndingWith("failed: this instance has shut down");
		other.acquire(REQUEST).release();
		instance.context().start();
		this.fleet.awaitListening(2);
		LockLease lease = other.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = instance.acquireInBackground(REQUEST.leaseTime(Duration.ofMinutes(5)));
		this.fleet.awaitQueued(KEY);
		lease.release();
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
		this.fleet.awaitNothingLeft();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class Tasks extends TestApplication {

		@Bean
		ThreadPoolTaskExecutor applicationTaskExecutor() {
			return new ThreadPoolTaskExecutor();
		}

		@Bean
		Worker worker(LockService locks) {
			return new Worker(locks);
		}

		static class Worker {

			private final LockService locks;

			Worker(LockService locks) {
				this.locks = locks;
			}

			@Async
			public CompletableFuture<ReleaseResult> lockAfter(CountDownLatch go) {
				assertThat(awaitZero(go)).isTrue();
				return CompletableFuture.completedFuture(this.locks.acquire(REQUEST).release());
			}

		}

	}

}
