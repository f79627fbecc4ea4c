package io.holdfast.test;

import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.autoconfigure.HoldfastAutoConfiguration;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link HoldfastClock}.
 */
class HoldfastClockTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastTestAutoConfiguration.class))
		.withPropertyValues("holdfast.backend=memory", "spring.lifecycle.timeout-per-shutdown-phase=10ms");

	private static HoldfastClock clock(AssertableApplicationContext context) {
		return context.getBean(HoldfastClock.class);
	}

	@Test
	@DisplayName("While time passes, renewed leases stay, and other leases end on time")
	void advance() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease renewed = locks.acquire("renewed");
			LockLease brief = locks.acquire(LockRequest.of("brief").leaseTime(Duration.ofMinutes(2)).autoRenew(false));
			LockLease bounded = locks.acquire(LockRequest.of("bounded").maxHold(Duration.ofMinutes(4)));
			clock(context).advance(Duration.ofSeconds(110));
			assertThat(brief.isHeld()).isTrue();
			clock(context).advance(Duration.ofSeconds(10));
			assertThat(brief.isHeld()).isFalse();
			assertThat(locks.status("brief").isLocked()).isFalse();
			clock(context).advance(Duration.ofMinutes(1));
			assertThat(bounded.isHeld()).isTrue();
			clock(context).advance(Duration.ofMinutes(2));
			assertThat(bounded.isHeld()).isFalse();
			clock(context).advance(Duration.ofDays(1));
			assertThat(renewed.isHeld()).isTrue();
			assertThat(renewed.remaining()).isBetween(Duration.ofSeconds(15), Duration.ofSeconds(30));
		});
	}

	@Test
	@DisplayName("The threads of the clock inherit nothing from the caller, and have the class loader of the application")
	void threads() {
		ClassLoader application = new URLClassLoader(new URL[0], getClass().getClassLoader());
		InheritableThreadLocal<String> tenant = new InheritableThreadLocal<>();
		this.runner.withClassLoader(application).run((context) -> {
			LockService locks = context.getBean(LockService.class);
			CompletableFuture<String> found = new CompletableFuture<>();
			Thread caller = new Thread(() -> {
				tenant.set("A");
				LockLease lease = locks.acquire(LockRequest.of("a").leaseTime(SOON).autoRenew(false));
				lease.onLost(() -> found
					.complete(tenant.get() + " " + (Thread.currentThread().getContextClassLoader() == application)));
				locks.admin().forceRelease("a");
			});
			caller.setContextClassLoader(ClassLoader.getPlatformClassLoader());
			caller.start();
			assertThat(found).succeedsWithin(SOON).isEqualTo("null true");
		});
	}

	@Test
	@DisplayName("A frozen holder loses its lease, and the next waiter gets the lock")
	void freeze() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease lease = locks.acquire("a");
			CompletableFuture<Void> lost = new CompletableFuture<>();
			lease.onLost(() -> lost.complete(null));
			CompletableFuture<LockLease> next = locks.acquireAsync(LockRequest.of("a").waitTime(Duration.ofHours(1)));
			clock(context).freeze(Duration.ofSeconds(31));
			assertThat(lease.isHeld()).isFalse();
			assertThat(lost).succeedsWithin(SOON);
			assertThat(next).succeedsWithin(SOON).satisfies((other) -> {
				assertThat(other.fencingToken()).isGreaterThan(lease.fencingToken());
				other.close();
			});
		});
	}

	@Test
	@DisplayName("Permits with minHold are free at the end of minHold")
	void permits() {
		this.runner.run((context) -> {
			SemaphoreService semaphores = context.getBean(SemaphoreService.class);
			SemaphoreRequest request = SemaphoreRequest.of("calls", 1).minHold(Duration.ofMinutes(1));
			semaphores.acquire(request).close();
			assertThat(context.getBean(MemoryLeases.class).isIdle()).isFalse();
			CompletableFuture<PermitLease> next = semaphores.acquireAsync(request.waitTime(Duration.ofHours(1)));
			clock(context).advance(Duration.ofSeconds(59));
			assertThat(next).isNotDone();
			clock(context).advance(Duration.ofSeconds(1));
			assertThat(next).succeedsWithin(SOON);
		});
	}

	@Test
	@DisplayName("The clock goes on between advances")
	void goesOn() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease lease = locks.acquire("a");
			CompletableFuture<LockLease> next = locks
				.acquireAsync(LockRequest.of("a").waitTime(Duration.ofSeconds(60).plusMillis(100)));
			clock(context).advance(Duration.ofMinutes(1));
			assertThat(next).isNotDone();
			assertThat(next).failsWithin(5, TimeUnit.SECONDS).withThrowableOfType(ExecutionException.class);
			assertThat(lease.isHeld()).isTrue();
		});
	}

	@Test
	@DisplayName("Blocked threads time out, or acquire freed locks, in the order of time")
	void blockedThreads() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease lease = locks.acquireAsync(LockRequest.of("a").leaseTime(Duration.ofMinutes(30)).autoRenew(false))
				.join();
			CompletableFuture<Boolean> early = blocked(locks, Duration.ofMinutes(29));
			CompletableFuture<Boolean> late = blocked(locks, Duration.ofMinutes(31));
			await().atMost(SOON).until(() -> locks.status("a").waitingInThisInstance() == 2);
			clock(context).advance(Duration.ofMinutes(28));
			assertThat(early).isNotDone();
			clock(context).advance(Duration.ofMinutes(4));
			assertThat(early).succeedsWithin(SOON).isEqualTo(false);
			assertThat(late).succeedsWithin(SOON).isEqualTo(true);
			assertThat(lease.isHeld()).isFalse();
		});
	}

	@Test
	@DisplayName("Time stands still while another thread is busy with the lock, also for late events")
	void standsStill() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			CountDownLatch busy = new CountDownLatch(1);
			CountDownLatch goOn = new CountDownLatch(1);
			context.getBean(LeaseEngine.class).observe(new EngineObserver() {
				@Override
				public RequestObserver requested(ObservedRequest request) {
					return new RequestObserver() {
						@Override
						public void handedOver(HandOver way) {
							busy.countDown();
							await().until(() -> goOn.getCount() == 0);
						}
					};
				}
			});
			LockLease first = locks.acquire("a");
			CompletableFuture<LockLease> next = locks.acquireAsync(LockRequest.of("a"));
			CompletableFuture<LockLease> due = locks.acquireAsync(LockRequest.of("a").waitTime(Duration.ofSeconds(5)));
			Thread releasing = new Thread(first::close);
			releasing.start();
			busy.await();
			Thread turning = new Thread(() -> clock(context).advance(Duration.ofSeconds(6)));
			turning.start();
			turning.join(300);
			assertThat(turning.isAlive()).isTrue();
			goOn.countDown();
			turning.join();
			assertThat(due).failsWithin(SOON).withThrowableOfType(ExecutionException.class);
			assertThat(next).succeedsWithin(SOON);
		});
	}

	private static CompletableFuture<Boolean> blocked(LockService locks, Duration waitTime) {
		return CompletableFuture.supplyAsync(() -> {
			Optional<LockLease> lease = locks.tryAcquire(LockRequest.of("a").waitTime(waitTime));
			lease.ifPresent(LockLease::close);
			return lease.isPresent();
		}, (task) -> new Thread(task).start());
	}

	@Test
	@DisplayName("Several threads may advance the clock at a time, also listeners and continuations")
	void turnedByMany() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			HoldfastClock clock = clock(context);
			LockLease renewed = locks.acquire("renewed");
			LockLease lost = locks.acquireAsync(LockRequest.of("lost").autoRenew(false)).join();
			CompletableFuture<Void> turnedByListener = new CompletableFuture<>();
			lost.onLost(() -> {
				clock.advance(Duration.ofMinutes(1));
				turnedByListener.complete(null);
			});
			CompletableFuture<Void> turnedByContinuation = locks
				.acquireAsync(LockRequest.of("lost").waitTime(Duration.ofSeconds(5)))
				.handle((none, failure) -> {
					clock.advance(Duration.ofMinutes(1));
					return null;
				});
			long before = clock.scheduler().nanoTime();
			CompletableFuture<?>[] turns = IntStream.range(0, 8).mapToObj((i) -> CompletableFuture.runAsync(() -> {
				for (int j = 0; j < 20; j++) {
					clock.advance(Duration.ofSeconds(15));
				}
			}, (task) -> new Thread(task).start())).toArray(CompletableFuture[]::new);
			assertThat(CompletableFuture.allOf(turns)).succeedsWithin(SOON);
			assertThat(turnedByListener).succeedsWithin(SOON);
			assertThat(turnedByContinuation).succeedsWithin(SOON);
			assertThat(Duration.ofNanos(clock.scheduler().nanoTime() - before)).isBetween(Duration.ofMinutes(1),
					Duration.ofMinutes(60));
			assertThat(renewed.isHeld()).isTrue();
			renewed.close();
		});
	}

	@Test
	@DisplayName("Each context has its own clock")
	void ofEachContext() {
		this.runner.run((one) -> this.runner.run((other) -> {
			LockRequest brief = LockRequest.of("a").autoRenew(false);
			LockLease here = one.getBean(LockService.class).acquire(brief);
			LockLease there = other.getBean(LockService.class).acquire(brief);
			clock(one).advance(Duration.ofMinutes(1));
			assertThat(here.isHeld()).isFalse();
			assertThat(there.isHeld()).isTrue();
		}));
	}

	@Test
	@DisplayName("Times beyond the range of the clock are refused, and leave the clock unchanged")
	void tooFar() {
		this.runner.run((context) -> {
			HoldfastClock clock = clock(context);
			for (Duration time : List.of(Duration.ofSeconds(Long.MAX_VALUE), Duration.ofDays(36_501))) {
				assertThatIllegalArgumentException().isThrownBy(() -> clock.advance(time))
					.withMessageContaining("more than 36500 days");
				assertThatIllegalArgumentException().isThrownBy(() -> clock.freeze(time));
			}
			clock.freeze(Duration.ofDays(36_499));
			assertThatIllegalArgumentException().isThrownBy(() -> clock.freeze(Duration.ofDays(36_500)));
			LockLease lease = context.getBean(LockService.class).acquire("a");
			clock.advance(Duration.ofHours(1));
			assertThat(lease.isHeld()).isTrue();
		});
	}

	@Test
	@DisplayName("If the context is closed during an advance, the advance ends")
	void closedWhileTurned() {
		CompletableFuture<?>[] turn = new CompletableFuture<?>[1];
		this.runner.run((context) -> {
			HoldfastClock clock = clock(context);
			LockLease renewed = context.getBean(LockService.class).acquire("renewed");
			assertThat(renewed.isHeld()).isTrue();
			turn[0] = CompletableFuture.runAsync(() -> {
				for (int i = 0; i < 100_000; i++) {
					clock.advance(Duration.ofHours(1));
				}
			}, (task) -> new Thread(task).start());
		});
		assertThat(turn[0]).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(IllegalStateException.class);
	}

	@Test
	@DisplayName("The clock refuses negative times, and any time after the close of its context")
	void refuses() {
		HoldfastClock[] clock = new HoldfastClock[1];
		this.runner.run((context) -> {
			clock[0] = clock(context);
			assertThatIllegalArgumentException().isThrownBy(() -> clock[0].advance(Duration.ofSeconds(-1)))
				.withMessageContaining("PT-1S");
			assertThatIllegalArgumentException().isThrownBy(() -> clock[0].freeze(Duration.ofSeconds(-1)));
		});
		assertThatIllegalStateException().isThrownBy(() -> clock[0].advance(Duration.ZERO));
	}

	@Test
	@DisplayName("A context with its own MemoryLeases has no clock, and neither has a context with Redis")
	void backsOff() {
		MemoryLeases shared = new MemoryLeases(System::nanoTime);
		this.runner.withBean(MemoryLeases.class, () -> shared)
			.run((context) -> assertThat(context).doesNotHaveBean(HoldfastClock.class)
				.hasSingleBean(LeaseEngine.class)
				.hasSingleBean(LockService.class));
		this.runner.withPropertyValues("holdfast.backend=redis")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastClock.class));
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastClock.class));
	}

}
