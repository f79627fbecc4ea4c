package io.holdfast.memory;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leases in memory that several threads close at once.
 */
class MemoryReleaseTests {

	private static final int THREADS = 4;

	private static final int ROUNDS = 500;

	private final MemoryLeases leases = new MemoryLeases(System::nanoTime);

	@AutoClose
	private final LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(this.leases), EngineSettings.defaults());

	@AutoClose
	private final LeaseEngine observer = new LeaseEngine(new MemoryLeaseStore(this.leases), EngineSettings.defaults());

	@Test
	@DisplayName("The release is complete when close() returns, even if another thread sent it")
	void released() {
		DefaultSemaphoreService semaphores = new DefaultSemaphoreService(this.engine);
		DefaultSemaphoreService others = new DefaultSemaphoreService(this.observer);
		CyclicBarrier barrier = new CyclicBarrier(THREADS);
		ExecutorService threads = Executors.newFixedThreadPool(THREADS);
		try {
			CompletableFuture<?>[] workers = IntStream.range(0, THREADS)
				.mapToObj((i) -> CompletableFuture.runAsync(() -> {
					for (int round = 0; round < ROUNDS; round++) {
						PermitLease lease = semaphores.acquire(SemaphoreRequest.of("busy", THREADS));
						await(barrier);
						lease.close();
						await(barrier);
						assertThat(others.status("busy").used()).as("round %s", round).isZero();
						await(barrier);
					}
				}, threads))
				.toArray(CompletableFuture[]::new);
			CompletableFuture.allOf(workers).orTimeout(60, TimeUnit.SECONDS).join();
		}
		finally {
			threads.shutdownNow();
		}
	}

	private static void await(CyclicBarrier barrier) {
		try {
			barrier.await(20, TimeUnit.SECONDS);
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

}
