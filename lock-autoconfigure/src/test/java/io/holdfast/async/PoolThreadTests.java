package io.holdfast.async;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockView;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Blocking calls of tasks in the common pool. While a worker waits for a
 * {@link CompletableFuture}, the JDK runs other tasks of the pool on the worker. With two
 * processors and JDK 17 {@link CompletableFuture#runAsync} starts a thread for each task,
 * and these tests cannot fail: {@code -XX:ActiveProcessorCount=4} makes them meaningful.
 */
@WithRedis
class PoolThreadTests {

	private static final Duration SOON = Duration.ofSeconds(30);

	private static final int TASKS = 600;

	private static ConfigurableApplicationContext application;

	private static LockService locks;

	private static SemaphoreService semaphores;

	private static Shop shop;

	/** Held outside of the tasks. */
	private static LockLease busy;

	@BeforeAll
	static void start(TestRedis redis) {
		application = TestApplication.start(redis, Shop.class, "holdfast.lock.wait-time=30s",
				"holdfast.semaphore.wait-time=30s", "holdfast.redis.command-timeout=5s");
		locks = application.getBean(LockService.class);
		semaphores = application.getBean(SemaphoreService.class);
		shop = application.getBean(Shop.class);
		busy = locks.acquire(LockRequest.of("busy"));
	}

	@Test
	@DisplayName("A task that wants a lock does not run inside of a task that holds the lock and waits for another")
	void exclusion() {
		LockLease ledger = locks.acquire(LockRequest.of("ledger"));
		AtomicReference<Thread> holder = new AtomicReference<>();
		AtomicBoolean secondInside = new AtomicBoolean();
		// Every other worker is busy, here or with a task of an earlier test. Only this
		// worker can take the second task.
		int others = ForkJoinPool.getCommonPoolParallelism() - 1;
		CountDownLatch busyWorkers = new CountDownLatch(others);
		CountDownLatch over = new CountDownLatch(1);
		CompletableFuture<CompletableFuture<Void>> first = CompletableFuture
			.supplyAsync(() -> locks.withLock("account", () -> {
				for (int i = 0; i < others; i++) {
					CompletableFuture.runAsync(() -> {
						busyWorkers.countDown();
						assertThat(awaitUninterruptibly(over, 60)).isTrue();
					});
				}
				awaitUninterruptibly(busyWorkers, 5);
				CompletableFuture<Void> second = CompletableFuture
					.runAsync(() -> locks.withLock("account", () -> secondInside.set(true)));
				holder.set(Thread.currentThread());
				locks.acquire(LockRequest.of("ledger")).close();
				assertThat(secondInside).as("second task inside of the lock").isFalse();
				return second;
			}));
		await().atMost(SOON)
			.until(() -> first.isDone() || locks.status("ledger").waitingInThisInstance() == 1
					&& holder.get().getState() != Thread.State.RUNNABLE);
		ledger.release();
		over.countDown();
		assertThat(first.thenCompose((second) -> second)).succeedsWithin(SOON);
		assertThat(secondInside).isTrue();
	}

	static Stream<Arguments> blockingCalls() {
		return Stream.of( //
				call("acquire", () -> locks.acquire(LockRequest.of("call")).close()), //
				call("acquire in vain",
						() -> assertThat(locks.tryAcquire(LockRequest.of("busy").waitTime(Duration.ofSeconds(1))))
							.isEmpty()), //
				call("acquire several", () -> locks.acquire(LockRequest.ofAll(List.of("call", "other"))).close()), //
				call("read", () -> locks.acquire(LockRequest.of("call").mode(LockMode.READ)).close()), //
				call("acquire permits", () -> semaphores.acquire(SemaphoreRequest.of("call", 2).permits(2)).close()), //
				call("withLock", () -> locks.withLock("call", () -> {
				})), //
				call("withPermits", () -> semaphores.withPermits(SemaphoreRequest.of("busy", 1), () -> {
				})), //
				call("lock", () -> {
					LockView view = locks.asLock("call");
					view.lock();
					view.unlock();
				}), //
				call("tryLock", () -> {
					LockView view = locks.asLock("call");
					assertThat(view.tryLock(1, TimeUnit.MINUTES)).isTrue();
					view.unlock();
				}), //
				call("status", () -> assertThat(locks.status("call").isLocked()).isFalse()), //
				call("extend", () -> busy.extend(Duration.ofSeconds(20))), //
				call("annotated", shop::sell), //
				call("annotated, the second lease refused", () -> assertThat(shop.trySell()).isNull()));
	}

	private static Arguments call(String name, Call call) {
		return Arguments.of(name, call);
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("blockingCalls")
	@DisplayName("No other task runs on the thread of a blocking call, in any kind of wait")
	void runsNoOtherTask(String name, Call call) {
		CountDownLatch over = new CountDownLatch(1);
		AtomicInteger runInside = new AtomicInteger();
		List<CompletableFuture<Void>> others = new ArrayList<>();
		CompletableFuture<Void> task = CompletableFuture.runAsync(() -> {
			Thread caller = Thread.currentThread();
			try {
				for (int i = 0; i < 5; i++) {
					// More tasks than workers: some are left for this thread.
					for (int j = 0; j < 20; j++) {
						others.add(CompletableFuture.runAsync(() -> {
							if (Thread.currentThread() == caller && over.getCount() > 0) {
								runInside.incrementAndGet();
							}
							else {
								assertThat(awaitUninterruptibly(over, 30)).isTrue();
							}
						}));
					}
					call.run();
				}
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
			finally {
				over.countDown();
			}
		});
		assertThat(task).succeedsWithin(SOON);
		assertThat(CompletableFuture.allOf(others.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
		assertThat(runInside).hasValue(0);
	}

	private static boolean awaitUninterruptibly(CountDownLatch latch, long seconds) {
		try {
			return latch.await(seconds, TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	static Stream<Arguments> crowds() {
		return Stream.of( //
				call("annotated", () -> shop.sell()), //
				call("annotated permits", () -> shop.locate()), //
				call("lock", () -> {
					LockView view = locks.asLock("crowd");
					view.lock();
					view.unlock();
				}), //
				call("tryLock", () -> {
					LockView view = locks.asLock("crowd");
					assertThat(view.tryLock(30, TimeUnit.SECONDS)).isTrue();
					view.unlock();
				}), //
				call("several keys", () -> locks.acquire(LockRequest.ofAll(List.of("crowd", "other"))).close()), //
				call("permits", () -> {
					PermitLease permit = semaphores.acquire(SemaphoreRequest.of("crowd", 1));
					permit.close();
				}));
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("crowds")
	@DisplayName("More tasks wait at once than the pool has spare threads, and all get their turn")
	void crowd(String name, Call call) {
		List<Lease> held = List.of(locks.acquire(LockRequest.ofAll(List.of("crowd", "shop"))),
				semaphores.acquire(SemaphoreRequest.of("crowd", 1)),
				semaphores.acquire(SemaphoreRequest.of("geocoder", 1)));
		List<CompletableFuture<Void>> tasks = new ArrayList<>();
		for (int i = 0; i < TASKS; i++) {
			tasks.add(CompletableFuture.runAsync(() -> {
				try {
					call.run();
				}
				catch (Exception ex) {
					throw new IllegalStateException(ex);
				}
			}));
		}
		try {
			// With two processors each task has a thread, else a worker or a spare
			// thread.
			await().atMost(SOON).until(() -> waiting() > 250);
		}
		finally {
			held.forEach(Lease::release);
		}
		assertThat(CompletableFuture.allOf(tasks.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
		for (String key : List.of("crowd", "other", "shop")) {
			await().atMost(SOON).until(() -> !locks.status(key).isLocked());
		}
		for (String key : List.of("crowd", "geocoder")) {
			await().atMost(SOON).until(() -> semaphores.status(key).used() == 0);
		}
	}

	private static int waiting() {
		return Stream.of("crowd", "shop").mapToInt((key) -> locks.status(key).waitingInThisInstance()).sum()
				+ Stream.of("crowd", "geocoder")
					.mapToInt((key) -> semaphores.status(key).waitingInThisInstance())
					.sum();
	}

	@Test
	@DisplayName("A pool that cannot replace a waiting thread costs no lease")
	void poolWithoutThreads() {
		ForkJoinPool pool = new ForkJoinPool(1, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, false, 1, 1, 1,
				null, 1, TimeUnit.MINUTES);
		LockLease first = locks.acquire(LockRequest.of("pool"));
		CompletableFuture<Long> waiting = CompletableFuture
			.supplyAsync(() -> locks.withLock("pool", () -> LockLease.current().fencingToken()), pool);
		await().atMost(SOON).until(() -> locks.status("pool").waitingInThisInstance() == 1 || waiting.isDone());
		first.release();
		assertThat(waiting).succeedsWithin(SOON);
		await().atMost(SOON).until(() -> !locks.status("pool").isLocked());
		pool.shutdown();
	}

	@FunctionalInterface
	interface Call {

		void run() throws Exception;

	}

	static class Shop {

		@DistributedLock(key = "'shop'")
		void sell() {
			assertThat(LockLease.current().isHeld()).isTrue();
		}

		@Semaphore(name = "geocoder", limit = 1)
		void locate() {
			assertThat(PermitLease.current().isHeld()).isTrue();
		}

		@Semaphore(name = "geocoder", limit = 1)
		@DistributedLock(key = "'busy'", waitTime = "0s", onTimeout = OnTimeout.SKIP)
		String trySell() {
			return "inside";
		}

	}

}
