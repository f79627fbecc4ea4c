package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.holdfast.SemaphoreService;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The recipe of {@code docs/semaphores.md} for a rate: a semaphore with {@code minHold}.
 */
@WithRedis
class RateLimitTests {

	private static final int LIMIT = 5;

	private static final Duration WINDOW = Duration.ofMillis(500);

	private final ApplicationContextRunner runner;

	RateLimitTests(TestRedis redis) {
		this.runner = TestApplication.runner(redis).withBean(Mailer.class);
	}

	@Test
	@DisplayName("Two busy instances start no more calls than the limit in a window, also after a pause")
	void rate() {
		this.runner.run((one) -> this.runner.run((two) -> {
			List<Mailer> mailers = List.of(one.getBean(Mailer.class), two.getBean(Mailer.class));
			sendAndCheck(mailers, 4 * LIMIT);
			SemaphoreService semaphores = one.getBean(SemaphoreService.class);
			await("all permits to come back").until(() -> semaphores.status("mail").used() == 0);
			// Permits unused in the pause are not saved up.
			sendAndCheck(mailers, 2 * LIMIT);
		}));
	}

	/**
	 * A thread may run long after the grant of its permit, but never before. So windows
	 * are counted from a moment when no permit was in use.
	 */
	private static void sendAndCheck(List<Mailer> mailers, int calls) {
		Queue<Long> starts = new ConcurrentLinkedQueue<>();
		ExecutorService threads = Executors.newFixedThreadPool(calls);
		long begin = System.nanoTime();
		try {
			CompletableFuture<?>[] sent = IntStream.range(0, calls)
				.mapToObj((i) -> CompletableFuture.runAsync(() -> mailers.get(i % 2).send(starts), threads))
				.toArray(CompletableFuture<?>[]::new);
			assertThat(CompletableFuture.allOf(sent)).succeedsWithin(30, TimeUnit.SECONDS);
		}
		finally {
			threads.shutdown();
		}
		List<Duration> times = starts.stream().sorted().map((time) -> Duration.ofNanos(time - begin)).toList();
		assertThat(times).hasSize(calls);
		for (int i = 0; i < calls; i++) {
			assertThat(times.get(i)).as("start %d of %s", i, times)
				.isGreaterThanOrEqualTo(WINDOW.multipliedBy(i / LIMIT));
		}
	}

	static class Mailer {

		@Semaphore(name = "mail", limit = LIMIT, minHold = "500ms", waitTime = "30s")
		public void send(Queue<Long> starts) {
			starts.add(System.nanoTime());
		}

	}

}
