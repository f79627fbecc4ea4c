package io.holdfast.reactive;

import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Cancellations at the moment of the grant, or of the end of the chain. No lease may stay
 * held.
 */
@Slow
class ReactiveRaceTests {

	private static final int RUNS = 2000;

	private static final LockRequest LOCK = LockRequest.of("raced").waitTime(Duration.ofMinutes(1));

	private static final SemaphoreRequest PERMIT = SemaphoreRequest.of("raced", 1).waitTime(Duration.ofMinutes(1));

	private final MemoryLeases leases = new MemoryLeases(System::nanoTime);

	private final LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(this.leases), EngineSettings.defaults());

	private final DefaultLockService locks = new DefaultLockService(this.engine);

	private final DefaultSemaphoreService semaphores = new DefaultSemaphoreService(this.engine);

	private final ReactiveLockService reactiveLocks = new ReactiveLockService(this.locks);

	private final ReactiveSemaphoreService reactiveSemaphores = new ReactiveSemaphoreService(this.semaphores);

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Random random = new Random(4);

	/** Number of racing subscriptions that were granted. */
	private final AtomicInteger granted = new AtomicInteger();

	@AfterEach
	void close() {
		this.threads.shutdownNow();
		this.engine.close();
	}

	@Test
	@DisplayName("A waiting chain is cancelled during the hand-over of the lock")
	void waitingMono() throws Exception {
		race(() -> this.locks.acquire(LOCK), (grants) -> this.reactiveLocks.withLock(LOCK, grants));
	}

	@Test
	@DisplayName("A waiting chain of many values is cancelled during the hand-over of the lock")
	void waitingFlux() throws Exception {
		race(() -> this.locks.acquire(LOCK), (grants) -> this.reactiveLocks.withLock(LOCK, grants.flux()));
	}

	@Test
	@DisplayName("A waiting chain is cancelled during the hand-over of a permit")
	void waitingForPermit() throws Exception {
		race(() -> this.semaphores.acquire(PERMIT),
				(grants) -> this.reactiveSemaphores.withPermits(PERMIT, grants.flux()));
	}

	@Test
	@DisplayName("A subscriber that gets a lease by hand holds the lease; otherwise the lease is released")
	void byHand() throws Exception {
		race(() -> this.locks.acquire(LOCK),
				(grants) -> this.reactiveLocks.acquire(LOCK).doOnNext(LockLease::releaseAsync).then(grants));
	}

	@Test
	@DisplayName("A chain is cancelled during the grant of its free lock")
	void free() throws Exception {
		race(() -> null, (grants) -> this.reactiveLocks.withLock(LOCK, grants));
	}

	@Test
	@DisplayName("A chain is cancelled during its own end")
	void ending() throws Exception {
		race(() -> null, (grants) -> this.reactiveLocks.withLock(LOCK, grants.then(Mono.just(1))));
	}

	private void race(Holder holder, Function<Mono<Void>, Publisher<?>> chain) throws Exception {
		Mono<Void> grants = Mono.fromRunnable(this.granted::incrementAndGet);
		CyclicBarrier start = new CyclicBarrier(2);
		int edge = 0;
		for (int run = 0; run < RUNS; run++) {
			int before = this.granted.get();
			// Delay of the cancellation after the release.
			int lead = edge + this.random.nextInt(2001) - 1000;
			Lease held = holder.acquire();
			Disposable waiting = (held != null) ? Flux.from(chain.apply(grants)).subscribe() : null;
			Future<?> release = this.threads.submit(() -> {
				start.await();
				spin(-lead);
				return (held != null) ? held.release() : null;
			});
			start.await();
			Disposable racing = (waiting != null) ? waiting : Flux.from(chain.apply(grants)).subscribe();
			spin(lead);
			racing.dispose();
			release.get();
			await("nothing held after run " + run).pollDelay(Duration.ZERO)
				.pollInterval(Duration.ofMillis(1))
				.until(this.leases::isIdle);
			// Converges to the delay at which both are equally fast.
			edge += (this.granted.get() > before) ? -200 : 200;
		}
		assertThat(this.granted).hasValueBetween(RUNS / 20, RUNS - RUNS / 20);
	}

	private static void spin(int rounds) {
		for (int i = 0; i < rounds; i++) {
			Thread.onSpinWait();
		}
	}

	private interface Holder {

		/** Holder that the racing subscription waits for; null without a wait. */
		Lease acquire();

	}

}
