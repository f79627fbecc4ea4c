package io.holdfast.async;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tasks that share a limited number of threads.
 */
class BoundedExecutorTests {

	private static final Duration SOON = Duration.ofSeconds(30);

	private final ExecutorService threads = Executors.newCachedThreadPool();

	@AfterEach
	void close() {
		this.threads.shutdownNow();
	}

	@Test
	@DisplayName("A task that arrives while another thread waits for the end of all tasks runs")
	void awaitIdle() throws InterruptedException {
		BoundedExecutor executor = new BoundedExecutor(this.threads, 2);
		AtomicBoolean over = new AtomicBoolean();
		CompletableFuture<?> waiting = CompletableFuture.runAsync(() -> {
			while (!over.get()) {
				executor.awaitIdle(Duration.ofSeconds(1));
			}
		}, this.threads);
		try {
			for (int i = 0; i < 20_000; i++) {
				CountDownLatch done = new CountDownLatch(1);
				executor.execute(done::countDown);
				assertThat(done.await(SOON.toSeconds(), TimeUnit.SECONDS)).as("task %d", i).isTrue();
			}
		}
		finally {
			over.set(true);
		}
		assertThat(waiting).succeedsWithin(SOON);
	}

}
