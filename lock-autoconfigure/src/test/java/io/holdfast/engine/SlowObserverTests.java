package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.EngineObserver.RequestObserver;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A slow observer delays the notifying thread, and not the key.
 */
class SlowObserverTests {

	private static final Duration SOON = Duration.ofSeconds(30);

	/** More events than observers can receive. */
	private static final int MANY = 11_000;

	private static final LockRequest REQUEST = LockRequest.of("k").waitTime(SOON).reentrant(false);

	private final LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
			EngineSettings.defaults());

	private final DefaultLockService service = new DefaultLockService(this.engine);

	private final CountDownLatch notified = new CountDownLatch(1);

	private final CompletableFuture<Boolean> unblock = new CompletableFuture<>();

	@AfterEach
	void close() {
		this.unblock.complete(true);
		this.engine.close();
	}

	private void observe(Function<ObservedRequest, @Nullable RequestObserver> observers) {
		this.engine.observe(new EngineObserver() {

			@Override
			public @Nullable RequestObserver requested(ObservedRequest request) {
				return observers.apply(request);
			}

		});
	}

	private void block() {
		this.notified.countDown();
		this.unblock.join();
	}

	private void assertOtherRequestsAreServed() throws InterruptedException {
		assertThat(this.notified.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
		assertThat(this.service.acquireAsync(REQUEST)).succeedsWithin(SOON).satisfies(LockLease::release);
		assertThat(this.unblock).isNotDone();
	}

	@Test
	void aSlowEndDelaysNoOtherRequest() throws InterruptedException {
		observe((request) -> (request.name() != null) ? new Blocking("ended") : null);
		LockLease lease = this.service.acquire(REQUEST.name("slow"));
		CompletableFuture<?> releasing = CompletableFuture.runAsync(lease::release);
		assertOtherRequestsAreServed();
		this.unblock.complete(true);
		assertThat(releasing).succeedsWithin(SOON);
	}

	@Test
	void aSlowBeginDelaysNoOtherRequest() throws InterruptedException {
		observe((request) -> (request.name() != null) ? new Blocking("began") : null);
		LockLease held = this.service.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = CompletableFuture
			.supplyAsync(() -> this.service.acquire(REQUEST.name("slow")));
		assertThat(this.notified.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
		assertThat(this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ofMillis(100)))).as("answered in time")
			.succeedsWithin(SOON)
			.satisfies((none) -> assertThat(none).isEmpty());
		assertThat(this.unblock).isNotDone();
		this.unblock.complete(true);
		held.release();
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
	}

	@Test
	void aSlowFailureDelaysNoOtherRequest() throws InterruptedException {
		observe((request) -> (request.name() != null) ? new Blocking("failed") : null);
		LockLease held = this.service.acquire(REQUEST);
		CompletableFuture<?> refused = CompletableFuture
			.supplyAsync(() -> this.service.tryAcquire(REQUEST.name("slow").waitTime(Duration.ofMillis(10))));
		assertThat(this.notified.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
		held.releaseAsync();
		assertOtherRequestsAreServed();
		this.unblock.complete(true);
		assertThat(refused).succeedsWithin(SOON);
	}

	@Test
	@DisplayName("Blocked observers hold up 64 requests at most, and pending events are limited")
	@ExtendWith(OutputCaptureExtension.class)
	void observersThatNeverReturn(CapturedOutput output) {
		observe((request) -> new Blocking("began"));
		List<CompletableFuture<LockLease>> all = IntStream.range(0, MANY)
			.mapToObj((i) -> this.service.acquireAsync(LockRequest.of("k" + i)))
			.toList();
		await("almost all are granted").atMost(SOON)
			.until(() -> all.stream().filter(CompletableFuture::isDone).count() >= MANY - 64);
		assertThat(output).containsOnlyOnce("Observers of leases are too slow")
			.as("more than 10000 by the events of a moment")
			.containsPattern("too slow: 100\\d\\d of");
		this.unblock.complete(true);
		assertThat(all).allSatisfy((lease) -> assertThat(lease).succeedsWithin(SOON));
		all.forEach((lease) -> lease.join().releaseAsync());
	}

	@Test
	@DisplayName("Each request has all its events in order, on any thread")
	void order() {
		OrderlyObserver observer = new OrderlyObserver();
		this.engine.observe(observer);
		IntStream.range(0, 2000).forEach((i) -> {
			LockRequest request = LockRequest.of("k" + i % 50).waitTime(SOON).reentrant(false);
			switch (i % 4) {
				case 0 -> this.service.acquireAsync(request).thenAccept(LockLease::releaseAsync);
				case 1 -> this.service.acquireAsync(request).thenAccept(LockLease::release);
				case 2 ->
					this.service.acquireAsync(request).thenAccept((lease) -> this.service.forceRelease(lease.key()));
				default -> {
					CompletableFuture<LockLease> given = this.service.acquireAsync(request);
					if (!given.cancel(true)) {
						given.thenAccept(LockLease::releaseAsync);
					}
				}
			}
		});
		await("all are finished").atMost(SOON).until(() -> observer.finished() == 2000);
		assertThat(observer.problems()).isEmpty();
	}

	@Test
	@DisplayName("Observers that learn of a grant after the release get its fencing token")
	void tokenAfterRelease() {
		LockLease lease = this.service.acquire(REQUEST);
		lease.release();
		assertThat(((EngineLease) lease).fences()).containsExactly(lease.fencingToken());
	}

	/** Observer that blocks at an event. */
	private final class Blocking implements RequestObserver {

		private final String event;

		Blocking(String event) {
			this.event = event;
		}

		private void blockAt(String event) {
			if (event.equals(this.event)) {
				block();
			}
		}

		@Override
		public void began() {
			blockAt("began");
		}

		@Override
		public void failed(RuntimeException why) {
			blockAt("failed");
		}

		@Override
		public void ended(HoldEnd end) {
			blockAt("ended");
		}

	}

}
