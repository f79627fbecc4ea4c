package io.holdfast.engine;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.DaemonThreads;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.willReturn;
import static org.mockito.Mockito.spy;

/**
 * Scheduler in real time.
 */
class ThreadSchedulerTests {

	private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

	@AutoClose
	private final ThreadScheduler scheduler = new ThreadScheduler(new DaemonThreads());

	@Test
	void aCancelledTimerWakesUpNoThread() throws Exception {
		CompletableFuture<Thread> timer = new CompletableFuture<>();
		this.scheduler.schedule(() -> timer.complete(Thread.currentThread()), 0);
		Thread thread = timer.get(10, TimeUnit.SECONDS);
		awaitRest(thread);
		long before = waits(thread);
		for (int i = 0; i < 200; i++) {
			Future<?> last = this.scheduler.schedule(() -> {
			}, TimeUnit.SECONDS.toNanos(10));
			awaitRest(thread);
			last.cancel(false);
			awaitRest(thread);
		}
		// The no-op action of the scheduler wakes the thread every 100 ms.
		assertThat(waits(thread) - before).isLessThan(100);
	}

	@Test
	void timersRunAtTheirTimeInAnyOrderOfScheduling() throws Exception {
		long begun = this.scheduler.nanoTime();
		CompletableFuture<Long> late = new CompletableFuture<>();
		CompletableFuture<Long> early = new CompletableFuture<>();
		this.scheduler.schedule(() -> late.complete(this.scheduler.nanoTime()), TimeUnit.MILLISECONDS.toNanos(150));
		this.scheduler.schedule(() -> early.complete(this.scheduler.nanoTime()), TimeUnit.MILLISECONDS.toNanos(5));
		assertThat(early.get(10, TimeUnit.SECONDS) - begun).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(5));
		assertThat(late.get(10, TimeUnit.SECONDS) - begun).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(150));
		assertThat(late.get()).isGreaterThan(early.get());
	}

	@Test
	void anActionWhoseThreadCannotBeStartedRunsWithTheNextAction() throws Exception {
		DaemonThreads threads = spy(new DaemonThreads());
		Thread refused = new Thread() {

			@Override
			public void start() {
				throw new OutOfMemoryError("unable to create native thread");
			}

		};
		willReturn(refused).willCallRealMethod().given(threads).create(any(), eq("holdfast-timer"));
		try (ThreadScheduler refusedOnce = new ThreadScheduler(threads)) {
			CompletableFuture<Boolean> first = new CompletableFuture<>();
			refusedOnce.schedule(() -> first.complete(true), 0);
			refusedOnce.schedule(() -> {
			}, 0);
			assertThat(first.get(10, TimeUnit.SECONDS)).isTrue();
		}
	}

	private static void awaitRest(Thread thread) {
		Awaitility.await()
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofNanos(100_000))
			.until(() -> thread.getState() == Thread.State.TIMED_WAITING || thread.getState() == Thread.State.WAITING);
	}

	private static long waits(Thread thread) {
		return THREADS.getThreadInfo(thread.getId()).getWaitedCount();
	}

}
