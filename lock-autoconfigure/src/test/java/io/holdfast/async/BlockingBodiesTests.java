package io.holdfast.async;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.autoconfigure.HoldfastReactiveAutoConfiguration;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Many asynchronous calls with blocking code, in memory.
 */
class BlockingBodiesTests {

	private static final Duration SOON = Duration.ofSeconds(60);

	private static final Duration PATIENT = Duration.ofSeconds(90);

	private final ApplicationContextRunner runner = TestApplication.runner(HoldfastReactiveAutoConfiguration.class)
		.withBean(Shop.class);

	/** Start many calls, which end once all are running. */
	private static List<CompletableFuture<?>> start(int calls, IntFunction<CompletableFuture<?>> call) {
		return IntStream.range(0, calls).<CompletableFuture<?>>mapToObj(call).toList();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("1,000 calls that wait for each other under their leases all run")
	void waitForEachOther(Way way) {
		this.runner.run((context) -> {
			Meeting meeting = new Meeting(1000);
			List<CompletableFuture<?>> calls = start(1000, (i) -> way.call.start(context, i, meeting));
			assertThat(CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
		});
	}

	@Test
	@DisplayName("A call under a lease that waits for another call runs, for any number of such waits")
	void nested() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			Meeting meeting = new Meeting(300);
			List<CompletableFuture<?>> calls = start(300,
					(i) -> locks.withLockAsync(LockRequest.of("outer" + i).waitTime(PATIENT), () -> {
						meeting.attend();
						locks.withLockAsync(LockRequest.of("inner" + i), () -> CompletableFuture.completedFuture(null))
							.orTimeout(SOON.toSeconds(), TimeUnit.SECONDS)
							.join();
						return CompletableFuture.completedFuture(null);
					}));
			assertThat(CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
		});
	}

	@Test
	@EnabledForJreRange(minVersion = 24)
	@DisplayName("3,000 calls with blocking code do not take a platform thread each")
	void fewThreads() {
		this.runner.run((context) -> {
			CountDownLatch all = new CountDownLatch(3000);
			CountDownLatch goOn = new CountDownLatch(1);
			List<CompletableFuture<?>> calls = start(3000, (i) -> context.getBean(LockService.class)
				.withLockAsync(LockRequest.of("k" + i).waitTime(PATIENT), () -> {
					all.countDown();
					Meeting.await(goOn);
					return CompletableFuture.completedFuture(null);
				}));
			Meeting.await(all);
			long ours = Thread.getAllStackTraces()
				.keySet()
				.stream()
				.filter((thread) -> thread.getName().startsWith("holdfast"))
				.count();
			assertThat(ours).isLessThan(20);
			goOn.countDown();
			assertThat(CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
		});
	}

	@Test
	@DisplayName("Computing calls on all processors delay no grant, loss or end of other leases")
	void computing() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			int processors = Runtime.getRuntime().availableProcessors();
			AtomicBoolean over = new AtomicBoolean();
			CountDownLatch all = new CountDownLatch(processors);
			List<CompletableFuture<?>> calls = start(processors,
					(i) -> locks.withLockAsync(LockRequest.of("k" + i), () -> {
						all.countDown();
						while (!over.get()) {
							Thread.onSpinWait();
						}
						return CompletableFuture.completedFuture(null);
					}));
			try {
				Meeting.await(all);
				LockLease several = locks.acquire(LockRequest.ofAll(List.of("a", "b")).waitTime(SOON));
				CountDownLatch lost = new CountDownLatch(1);
				several.onLost(lost::countDown);
				locks.admin().forceRelease("a");
				Meeting.await(lost);
				several.release();
			}
			finally {
				over.set(true);
			}
			assertThat(CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
		});
	}

	/** Ways to call code under a separate lease. */
	enum Way {

		FUTURE((context, i, meeting) -> context.getBean(LockService.class)
			.withLockAsync(LockRequest.of("k" + i).waitTime(PATIENT), meeting::later)),

		PERMIT((context, i, meeting) -> context.getBean(SemaphoreService.class)
			.withPermitsAsync(SemaphoreRequest.of("s", 1000).waitTime(PATIENT), meeting::later)),

		CHAIN((context, i, meeting) -> context.getBean(ReactiveLockService.class)
			.withLock(LockRequest.of("k" + i).waitTime(PATIENT), Mono.fromCallable(meeting::attend))
			.toFuture()),

		ANNOTATED((context, i, meeting) -> context.getBean(Shop.class).future("k" + i, meeting)),

		ANNOTATED_CHAIN((context, i, meeting) -> context.getBean(Shop.class).mono("k" + i, meeting).toFuture());

		private final Call call;

		Way(Call call) {
			this.call = call;
		}

	}

	interface Call {

		CompletableFuture<?> start(ApplicationContext context, int number, Meeting meeting);

	}

	/** Wait until all calls have arrived, in a monitor. */
	static final class Meeting {

		private int missing;

		Meeting(int participants) {
			this.missing = participants;
		}

		synchronized boolean attend() {
			this.missing--;
			notifyAll();
			try {
				while (this.missing > 0) {
					wait(PATIENT.toMillis());
				}
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			return true;
		}

		CompletableFuture<Boolean> later() {
			return CompletableFuture.completedFuture(attend());
		}

		static void await(CountDownLatch latch) {
			try {
				assertThat(latch.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

	static class Shop {

		@DistributedLock(key = "#key", waitTime = "90s")
		CompletableFuture<Boolean> future(String key, Meeting meeting) {
			return meeting.later();
		}

		@DistributedLock(key = "#key", waitTime = "90s")
		Mono<Boolean> mono(String key, Meeting meeting) {
			return Mono.just(meeting.attend());
		}

	}

}
