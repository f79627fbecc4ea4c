package io.holdfast.observation;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

import io.holdfast.HoldfastException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.observation.LettuceObservationAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Threads of calls to observers, for granted, refused, timed-out and cancelled requests,
 * for losses and renewals.
 */
@WithRedis
class ObserverThreadsTests {

	private static final Duration SOON = Duration.ofSeconds(20);

	private static final Duration SHORT = Duration.ofMillis(50);

	private final TestRedis redis;

	private final LockService others;

	private final ConfigurableApplicationContext instance;

	private final Told told;

	private final LockService locks;

	private final SemaphoreService semaphores;

	private final ReactiveLockService reactiveLocks;

	private final Shop shop;

	/** Event loop of the application. */
	private final ExecutorService loop = Executors.newSingleThreadExecutor((task) -> new Thread(task, "loop"));

	private final Scheduler loopScheduler = Schedulers.fromExecutor(this.loop);

	ObserverThreadsTests(TestRedis redis) {
		this.redis = redis;
		this.others = TestApplication.start(redis).getBean(LockService.class);
		this.instance = TestApplication.start(redis, Application.class, "holdfast.lock.wait-time=200ms",
				"holdfast.semaphore.wait-time=200ms");
		this.told = this.instance.getBean(Told.class);
		this.locks = this.instance.getBean(LockService.class);
		this.semaphores = this.instance.getBean(SemaphoreService.class);
		this.reactiveLocks = this.instance.getBean(ReactiveLockService.class);
		this.shop = this.instance.getBean(Shop.class);
	}

	@AfterEach
	void close() {
		this.told.goOn.complete(true);
		this.loop.shutdownNow();
	}

	/** Run an action on the event loop, and wait for the event of its end. */
	private void onLoop(String end, Runnable action) {
		int before = this.told.count(end);
		CompletableFuture.runAsync(action, this.loop).orTimeout(SOON.toSeconds(), TimeUnit.SECONDS).join();
		await(end).atMost(SOON).until(() -> this.told.count(end) > before);
	}

	@Test
	@DisplayName("No observer runs on the timer, on an event loop of driver or application, or on a cancelling thread")
	void threads() {
		LockLease held = this.others.acquire(LockRequest.of("taken").waitTime(SOON));
		SemaphoreRequest one = SemaphoreRequest.of("s", 1).waitTime(SHORT);
		// Granted, released, refused, timed out, cancelled: locks, several keys, permits.
		onLoop("ended", () -> this.locks.acquireAsync(LockRequest.of("free")).thenAccept(LockLease::releaseAsync));
		onLoop("ended", () -> this.locks.acquireAsync(LockRequest.ofAll(List.of("a", "b")))
			.thenAccept(LockLease::releaseAsync));
		onLoop("ended", () -> this.semaphores.acquireAsync(one).thenAccept(PermitLease::releaseAsync));
		onLoop("failed", () -> this.locks.tryAcquireAsync(LockRequest.of("taken")));
		onLoop("failed", () -> this.locks.acquireAsync(LockRequest.of("taken")));
		onLoop("failed", () -> this.locks.acquireAsync(LockRequest.ofAll(List.of("a", "taken")).waitTime(SHORT)));
		onLoop("failed", () -> this.locks.acquireAsync(LockRequest.of("taken").waitTime(SOON)).cancel(true));
		onLoop("failed", () -> this.locks.acquireAsync(LockRequest.of("taken").waitTime(SOON))
			.orTimeout(20, TimeUnit.MILLISECONDS));
		onLoop("failed",
				() -> this.reactiveLocks.acquire(LockRequest.of("taken").waitTime(SOON))
					.timeout(SHORT)
					.subscribe((lease) -> {
					}, (error) -> {
					}));
		onLoop("ended", () -> {
			try (LockLease lease = this.locks.acquire("blocking")) {
				lease.ensureHeld();
			}
			catch (HoldfastException ex) {
				throw new IllegalStateException(ex);
			}
		});
		// Renewed, lost.
		LockLease lost = this.locks.acquire(LockRequest.of("lost").leaseTime(Duration.ofSeconds(1)));
		await("renewed").atMost(SOON).until(() -> this.told.count("renewed") > 0);
		this.others.admin().forceRelease("lost");
		await("lost").atMost(SOON).until(() -> this.told.count("lost") > 0 && !lost.isHeld());
		held.release();
		// Observers of blocking calls run on the caller's thread.
		assertThat(this.told.threads).filteredOn((line) -> line.contains(" on loop"))
			.containsExactlyInAnyOrder("began on loop", "granted on loop", "ended on loop",
					"start of holdfast.lock.acquire on loop", "stop of holdfast.lock.acquire on loop",
					"start of holdfast.lock.hold on loop", "stop of holdfast.lock.hold on loop");
		assertThat(this.told.forbidden()).isEmpty();
	}

	@Test
	@DisplayName("The observation of an annotated call ends neither on an event loop nor on a timer")
	void annotatedCalls() {
		LockLease held = this.others.acquire(LockRequest.of("taken").waitTime(SOON));
		String end = "stop of holdfast.method";
		CompletableFuture<String> work = new CompletableFuture<>();
		onLoop(end, () -> this.shop.future("free", CompletableFuture.completedFuture("")));
		onLoop(end, () -> {
			this.shop.future("free", work);
			this.loop.execute(() -> work.complete(""));
		});
		onLoop(end, () -> this.shop.future("taken", new CompletableFuture<>()));
		onLoop(end, () -> this.shop.future("taken", new CompletableFuture<>()).cancel(true));
		onLoop(end, () -> this.shop.future("taken", new CompletableFuture<>()).orTimeout(20, TimeUnit.MILLISECONDS));
		onLoop(end, () -> this.shop.mono("free", Mono.just("").publishOn(this.loopScheduler)).subscribe());
		onLoop(end, () -> this.shop.flux("free", Flux.just("", "").publishOn(this.loopScheduler)).subscribe());
		onLoop(end, () -> this.shop.mono("taken", Mono.empty()).timeout(SHORT).subscribe((value) -> {
		}, (error) -> {
		}));
		onLoop(end, () -> this.shop.mono("free", Mono.never()).subscribe().dispose());
		onLoop(end,
				() -> this.shop.mono("free", Mono.<String>never().doOnSubscribe((chain) -> this.told.inside()))
					.takeUntilOther(Mono.fromFuture(this.told.inside).publishOn(this.loopScheduler))
					.subscribe());
		onLoop(end, () -> this.shop.instead("taken", this.loop));
		onLoop(end, () -> this.shop.monoInstead("taken", this.loopScheduler).subscribe());
		held.release();
		assertThat(this.told.threads).filteredOn((line) -> line.endsWith(" on loop"))
			.containsExactly("start of holdfast.method on loop");
		assertThat(this.told.forbidden()).isEmpty();
	}

	@Test
	@DisplayName("Blocked handlers of many timed-out requests cost other requests neither leases nor grants")
	void slowHandlers() {
		LockLease held = this.others.acquire(LockRequest.of("taken").waitTime(SOON));
		LockLease unrelated = this.locks.acquire(LockRequest.of("unrelated").leaseTime(Duration.ofSeconds(2)));
		CountDownLatch lost = new CountDownLatch(1);
		this.told.standStillAt("stop of holdfast.lock.acquire");
		List<CompletableFuture<LockLease>> refused = IntStream.range(0, 200)
			.mapToObj((i) -> this.locks.acquireAsync(LockRequest.of("taken").waitTime(SHORT)))
			.toList();
		await("completed requests, except blocked observers").atMost(SOON)
			.until(() -> refused.stream().filter(CompletableFuture::isDone).count() >= 200 - 64);
		assertThat(this.told.standing.get()).as("blocked threads").isBetween(1, 64);
		awaitRenewals(unrelated);
		unrelated.ensureHeld();
		// A loss is found and its listener called, and free locks are granted.
		LockLease ending = this.locks.acquireAsync(LockRequest.of("ending"))
			.orTimeout(SOON.toSeconds(), TimeUnit.SECONDS)
			.join();
		ending.onLost(lost::countDown);
		this.others.admin().forceRelease("ending");
		await("loss listener").atMost(SOON).until(() -> lost.getCount() == 0);
		this.told.goOn.complete(true);
		assertThat(refused).allSatisfy(
				(request) -> assertThat(request).failsWithin(SOON).withThrowableOfType(ExecutionException.class));
		await("failed requests").atMost(SOON).until(() -> this.told.count("failed") >= 200);
		held.release();
	}

	private static void awaitRenewals(LockLease lease) {
		AtomicInteger renewals = new AtomicInteger();
		AtomicReference<Duration> last = new AtomicReference<>(lease.remaining());
		await("repeated renewals").atMost(SOON).until(() -> {
			Duration remaining = lease.remaining();
			if (remaining.compareTo(last.getAndSet(remaining)) > 0) {
				renewals.incrementAndGet();
			}
			return renewals.get() >= 4;
		});
	}

	@Test
	@DisplayName("The application's tracing of Redis commands sees no command of Holdfast, whose event loop it would block")
	void commands() {
		this.locks.acquire("free").release();
		assertThat(this.told.count("start of lettuce")).isZero();
		this.instance.getBean(StringRedisTemplate.class).hasKey("any");
		assertThat(this.told.count("start of lettuce")).isPositive();
	}

	/** Recorded events and their threads. */
	static final class Told {

		private static final Set<String> FORBIDDEN = Set.of("holdfast-timer", "lettuce", "parallel", "Completable",
				"holdfast-subscription");

		final Set<String> threads = new ConcurrentSkipListSet<>();

		private final Map<String, AtomicInteger> counts = new ConcurrentHashMap<>();

		final CompletableFuture<Boolean> goOn = new CompletableFuture<>();

		final AtomicInteger standing = new AtomicInteger();

		final CompletableFuture<String> inside = new CompletableFuture<>();

		private volatile String stop = "";

		void inside() {
			this.inside.complete("");
		}

		void standStillAt(String event) {
			this.stop = event;
		}

		int count(String event) {
			return this.counts.getOrDefault(event, new AtomicInteger()).get();
		}

		List<String> forbidden() {
			return this.threads.stream()
				.filter((line) -> FORBIDDEN.stream().anyMatch((name) -> line.contains(" on " + name)))
				.toList();
		}

		void add(String event) {
			this.threads.add(event + " on " + Thread.currentThread().getName());
			if (event.equals(this.stop) && !this.goOn.isDone()) {
				this.standing.incrementAndGet();
				this.goOn.join();
			}
			this.counts.computeIfAbsent(event, (k) -> new AtomicInteger()).incrementAndGet();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ TestApplication.class, Shop.class })
	@ImportAutoConfiguration(LettuceObservationAutoConfiguration.class)
	static class Application {

		@Bean
		Told told() {
			return new Told();
		}

		@Bean
		ObservationRegistry observationRegistry(Told told) {
			ObservationRegistry registry = ObservationRegistry.create();
			registry.observationConfig().observationHandler(new ObservationHandler<>() {

				@Override
				public void onStart(Observation.Context context) {
					told.add("start of " + context.getName());
				}

				@Override
				public void onStop(Observation.Context context) {
					told.add("stop of " + context.getName());
				}

				@Override
				public boolean supportsContext(Observation.Context context) {
					return true;
				}

			});
			return registry;
		}

		@Bean
		EngineObserver observer(Told told) {
			return new NotingObserver(told);
		}

	}

	private record NotingObserver(Told told) implements EngineObserver {

		@Override
		public RequestObserver requested(ObservedRequest request) {
			return new RequestObserver() {

				@Override
				public void began() {
					NotingObserver.this.told.add("began");
				}

				@Override
				public void handedOver(HandOver way) {
					NotingObserver.this.told.add("handed over");
				}

				@Override
				public void granted(List<Long> fences) {
					NotingObserver.this.told.add("granted");
				}

				@Override
				public void failed(RuntimeException why) {
					NotingObserver.this.told.add("failed");
				}

				@Override
				public void ended(HoldEnd end) {
					NotingObserver.this.told.add("ended");
				}

			};
		}

		@Override
		public void lost(Kind kind, @Nullable String name) {
			this.told.add("lost");
		}

		@Override
		public void renewed(Kind kind, RenewalOutcome outcome) {
			this.told.add("renewed");
		}

		@Override
		public void failed(Command command) {
			this.told.add("command failed");
		}

	}

	static class Shop {

		@DistributedLock(key = "#key")
		CompletableFuture<String> future(String key, CompletableFuture<String> work) {
			return work;
		}

		@DistributedLock(key = "#key", fallback = "later")
		CompletableFuture<String> instead(String key, ExecutorService loop) {
			return new CompletableFuture<>();
		}

		CompletableFuture<String> later(String key, ExecutorService loop) {
			return CompletableFuture.supplyAsync(() -> "",
					CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS, loop));
		}

		@DistributedLock(key = "#key", onLoss = OnLoss.INTERRUPT)
		Mono<String> mono(String key, Mono<String> chain) {
			return chain;
		}

		@Semaphore(name = "flux", limit = 5)
		Flux<String> flux(String key, Flux<String> chain) {
			return chain;
		}

		@DistributedLock(key = "#key", fallback = "monoLater")
		Mono<String> monoInstead(String key, Scheduler loop) {
			return Mono.never();
		}

		Mono<String> monoLater(String key, Scheduler loop) {
			return Mono.just("").publishOn(loop);
		}

	}

}
