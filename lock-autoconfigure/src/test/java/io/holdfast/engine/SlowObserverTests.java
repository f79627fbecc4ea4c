package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.observe.EngineObserver;
import io.holdfast.engine.observe.ObservedRequest;
import io.holdfast.engine.request.EngineSettings;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An observer that takes its time keeps the thread that tells it, and not the key.
 */
class SlowObserverTests {

	private static final Duration SOON = Duration.ofSeconds(30);

	private static final LockRequest REQUEST = LockRequest.of("k").waitTime(SOON).reentrant(false);

	private final LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
			EngineSettings.defaults());

	private final DefaultLockService service = new DefaultLockService(this.engine);

	private final CountDownLatch told = new CountDownLatch(1);

	private final CountDownLatch goOn = new CountDownLatch(1);

	@AfterEach
	void close() {
		this.goOn.countDown();
		this.engine.close();
	}

	private void takeTime() {
		this.told.countDown();
		try {
			this.goOn.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private void assertOthersAreServed() throws InterruptedException {
		assertThat(this.told.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
		assertThat(this.service.acquireAsync(REQUEST)).succeedsWithin(SOON).satisfies(LockLease::release);
		assertThat(this.goOn.getCount()).isOne();
	}

	@Test
	void anEnd() throws InterruptedException {
		this.engine.observe(new EngineObserver() {

			@Override
			public @Nullable RequestObserver began(ObservedRequest request, @Nullable Object captured) {
				return (request.name() == null) ? null : new RequestObserver() {

					@Override
					public void ended(HoldEnd end) {
						takeTime();
					}

				};
			}

		});
		LockLease lease = this.service.acquire(REQUEST.name("slow"));
		CompletableFuture<?> releasing = CompletableFuture.runAsync(lease::release);
		assertOthersAreServed();
		this.goOn.countDown();
		assertThat(releasing).succeedsWithin(SOON);
	}

	@Test
	void aBeginning() throws InterruptedException {
		this.engine.observe(new EngineObserver() {

			@Override
			public @Nullable RequestObserver began(ObservedRequest request, @Nullable Object captured) {
				if (request.name() != null) {
					takeTime();
				}
				return null;
			}

		});
		LockLease held = this.service.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = CompletableFuture
			.supplyAsync(() -> this.service.acquire(REQUEST.name("slow")));
		assertThat(this.told.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
		assertThat(this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ofMillis(100)))).as("told in time")
			.succeedsWithin(SOON)
			.satisfies((none) -> assertThat(none).isEmpty());
		assertThat(this.goOn.getCount()).isOne();
		this.goOn.countDown();
		held.release();
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
	}

	@Test
	void aFailure() throws InterruptedException {
		this.engine.observe(new EngineObserver() {

			@Override
			public @Nullable RequestObserver began(ObservedRequest request, @Nullable Object captured) {
				return (request.name() == null) ? null : new RequestObserver() {

					@Override
					public void failed(RuntimeException why) {
						takeTime();
					}

				};
			}

		});
		LockLease held = this.service.acquire(REQUEST);
		CompletableFuture<?> refused = CompletableFuture
			.supplyAsync(() -> this.service.tryAcquire(REQUEST.name("slow").waitTime(Duration.ofMillis(10))));
		assertThat(this.told.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
		held.releaseAsync();
		assertOthersAreServed();
		this.goOn.countDown();
		assertThat(refused).succeedsWithin(SOON);
	}

}
