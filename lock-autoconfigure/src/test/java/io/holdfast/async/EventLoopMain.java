package io.holdfast.async;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import io.holdfast.testing.TestApplication;
import reactor.blockhound.BlockHound;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.ReactiveRedisConnectionFactory;
import org.springframework.data.redis.core.ReactiveStringRedisTemplate;

/**
 * Main class of a child JVM in which BlockHound watches the threads that must not block:
 * the threads of Reactor's parallel scheduler and the event loops of the Redis driver.
 * All operations of Holdfast run on these threads. Arguments: host, port, key prefix.
 */
final class EventLoopMain {

	private static final Duration SOON = Duration.ofSeconds(20);

	private static final int ROUNDS = 10;

	private static final LockRequest PATIENT = LockRequest.of("loop").waitTime(Duration.ofMinutes(1));

	/** Stacks of forbidden blocking calls. */
	private static final List<Throwable> blocked = new CopyOnWriteArrayList<>();

	private final ReactiveStringRedisTemplate redis;

	private final String keyPrefix;

	private final LockService locks;

	private final ReactiveLockService reactiveLocks;

	private final ReactiveSemaphoreService reactiveSemaphores;

	private final Shop shop;

	private EventLoopMain(ConfigurableApplicationContext context, String keyPrefix) {
		this.redis = new ReactiveStringRedisTemplate(context.getBean(ReactiveRedisConnectionFactory.class));
		this.keyPrefix = keyPrefix;
		this.locks = context.getBean(LockService.class);
		this.reactiveLocks = context.getBean(ReactiveLockService.class);
		this.reactiveSemaphores = context.getBean(ReactiveSemaphoreService.class);
		this.shop = context.getBean(Shop.class);
	}

	public static void main(String[] args) {
		BlockHound.builder()
			.loadIntegrations()
			.blockingMethodCallback(
					(method) -> blocked.add(new Throwable(method + " on " + Thread.currentThread().getName())))
			.install();
		try (ConfigurableApplicationContext context = TestApplication.start(Application.class, args[0],
				Integer.parseInt(args[1]), args[2], List.of("holdfast.redis.command-timeout=5s"))) {
			new EventLoopMain(context, args[2]).run();
		}
		blocked.forEach(Throwable::printStackTrace);
		System.out.println("blocked: " + blocked.size());
	}

	private void run() {
		watchIsKept("parallel", Mono.just("").publishOn(Schedulers.parallel()));
		watchIsKept("lettuce", this.redis.hasKey("any").map(String::valueOf));
		uses().forEach((name, use) -> {
			for (int round = 0; round < ROUNDS; round++) {
				Mono.defer(use).subscribeOn(Schedulers.parallel()).block(SOON);
				this.redis.hasKey("any").flatMap((any) -> use.get()).block(SOON);
			}
			System.out.println("used: " + name);
		});
	}

	/**
	 * Check that a blocking call is detected on such a thread. An answer that precedes
	 * its request comes on the requesting thread, so the request is repeated.
	 */
	private static void watchIsKept(String threads, Mono<String> onThread) {
		onThread.filter((any) -> Thread.currentThread().getName().startsWith(threads))
			.repeatWhenEmpty((again) -> again)
			// All locks and conditions of the JDK call this method.
			.doOnNext((any) -> LockSupport.parkNanos(1))
			.block(SOON);
		if (blocked.isEmpty()) {
			throw new IllegalStateException("There is no watch on " + threads);
		}
		blocked.clear();
		System.out.println("watched: " + threads);
	}

	private Map<String, Supplier<Mono<?>>> uses() {
		Map<String, Supplier<Mono<?>>> uses = new LinkedHashMap<>();
		uses.put("a lock", () -> this.reactiveLocks.withLock("loop", Mono.just(1)));
		uses.put("a lock around many values",
				() -> this.reactiveLocks.withLock("loop", Flux.range(1, 10).delayElements(Duration.ofMillis(1)))
					.count());
		uses.put("a lock in a lock",
				() -> this.reactiveLocks.withLock("loop", this.reactiveLocks.withLock("loop", Mono.just(1))));
		uses.put("a lock that is waited for",
				() -> Flux.range(1, 4)
					.flatMap((i) -> this.reactiveLocks.withLock(PATIENT, Mono.delay(Duration.ofMillis(5))))
					.count());
		uses.put("permits", () -> this.reactiveSemaphores.withPermits(SemaphoreRequest.of("loop", 2), Mono.just(1)));
		uses.put("permits that are waited for", () -> {
			SemaphoreRequest patient = SemaphoreRequest.of("loop", 2).waitTime(Duration.ofMinutes(1));
			return Flux.range(1, 6)
				.flatMap((i) -> this.reactiveSemaphores.withPermits(patient, Mono.delay(Duration.ofMillis(5))))
				.count();
		});
		uses.put("a lock that cannot be had", () -> {
			LockRequest stranger = LockRequest.of("loop").waitTime(Duration.ofMillis(20)).reentrant(false);
			return this.reactiveLocks.withLock("loop", this.reactiveLocks.tryAcquire(stranger));
		});
		uses.put("a cancelled wait", () -> {
			LockRequest stranger = PATIENT.reentrant(false);
			return this.reactiveLocks.withLock("loop", timedOut(this.reactiveLocks.withLock(stranger, Mono.never())));
		});
		uses.put("a cancelled chain", () -> timedOut(this.reactiveLocks.withLock("loop", Mono.never())));
		uses.put("a loss",
				() -> this.reactiveLocks
					.withLock(LockRequest.of("lost").leaseTime(Duration.ofMillis(300)),
							this.redis.delete(this.keyPrefix + "lost").then(Mono.never()))
					.onErrorResume(LeaseLostException.class, (ex) -> Mono.empty()));
		uses.put("futures", () -> {
			CompletableFuture<LockLease> lease = this.locks.acquireAsync(PATIENT);
			CompletableFuture<LockLease> cancelled = this.locks.acquireAsync(PATIENT);
			return Mono.fromFuture(lease.thenCompose((granted) -> {
				cancelled.cancel(true);
				return granted.releaseAsync();
			}));
		});
		uses.put("a method with a Mono", () -> this.shop.mono());
		uses.put("a method with a Flux", () -> this.shop.flux().count());
		uses.put("a method with a future", () -> Mono.fromFuture(() -> this.shop.future(Duration.ofMillis(1))));
		uses.put("methods that wait",
				() -> Flux
					.merge(this.shop.mono(), this.shop.flux(),
							Mono.fromFuture(() -> this.shop.future(Duration.ofMillis(5))))
					.count());
		uses.put("a cancelled method with a Mono", () -> timedOut(this.shop.endless()));
		uses.put("a cancelled method with a future",
				() -> timedOut(Mono.fromFuture(() -> this.shop.future(Duration.ofMillis(30)))));
		return uses;
	}

	private static Mono<?> timedOut(Mono<?> endless) {
		return endless.timeout(Duration.ofMillis(10)).onErrorResume(TimeoutException.class, (ex) -> Mono.empty());
	}

	static class Shop {

		@DistributedLock(name = "shop", waitTime = "1m")
		@Semaphore(name = "shop", limit = 2, waitTime = "1m")
		public Mono<String> mono() {
			return Mono.delay(Duration.ofMillis(1)).map((tick) -> Lease.current().key()).onErrorReturn("none");
		}

		@DistributedLock(name = "shop", waitTime = "1m")
		public Flux<Long> flux() {
			return Flux.interval(Duration.ofMillis(1)).take(3);
		}

		@DistributedLock(name = "shop", waitTime = "1m")
		public Mono<String> endless() {
			return Mono.never();
		}

		@DistributedLock(name = "shop", waitTime = "1m")
		@Semaphore(name = "shop", limit = 2, waitTime = "1m")
		public CompletableFuture<Long> future(Duration delay) {
			LockLease.current().ensureHeld();
			return Mono.delay(delay).toFuture();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Shop.class)
	static class Application extends TestApplication {

	}

}
