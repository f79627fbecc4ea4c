package io.holdfast.async;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLeaseContext;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.ReactiveTestTransactions;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.transaction.reactive.TransactionalOperator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Annotated methods with futures and chains, and reactive services, of two instances of
 * an application with a common Redis.
 */
@WithRedis
class AsyncMethodsTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final ConfigurableApplicationContext first;

	private final ConfigurableApplicationContext second;

	AsyncMethodsTests(TestRedis redis) {
		this.first = TestApplication.start(redis, Application.class, "holdfast.redis.command-timeout=5s");
		this.second = TestApplication.start(redis, Application.class, "holdfast.redis.command-timeout=5s");
	}

	private static Shop shop(ConfigurableApplicationContext instance) {
		return instance.getBean(Shop.class);
	}

	private LockService locks() {
		return this.second.getBean(LockService.class);
	}

	private void awaitLocked(String key, boolean locked) {
		await().atMost(SOON).until(() -> locks().status(key).isLocked() == locked);
	}

	@Test
	@DisplayName("A lock is held in all instances until the result, and then free for all")
	void heldUntilTheEnd() {
		Sinks.One<String> work = Sinks.one();
		CompletableFuture<String> result = shop(this.first).mono(work::asMono).toFuture();
		awaitLocked("shop", true);
		assertThat(shop(this.second).attempt()).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOf(LockNotAcquiredException.class);
		work.tryEmitValue("done");
		assertThat(result).succeedsWithin(SOON).isEqualTo("done");
		awaitLocked("shop", false);
		assertThat(shop(this.second).attempt()).succeedsWithin(SOON).isEqualTo("had it");
	}

	@Test
	@DisplayName("Methods with one key and any kind of result exclude each other in the whole fleet")
	void exclusion() {
		List<Mono<Integer>> calls = new ArrayList<>();
		AtomicInteger inside = new AtomicInteger();
		Supplier<Integer> alone = () -> {
			int count = inside.incrementAndGet();
			Thread.yield();
			inside.decrementAndGet();
			return count;
		};
		Mono<Integer> later = Mono.fromSupplier(inside::incrementAndGet)
			.delayElement(Duration.ofMillis(1))
			.doOnNext((count) -> inside.decrementAndGet());
		for (int i = 0; i < 25; i++) {
			for (ConfigurableApplicationContext instance : List.of(this.first, this.second)) {
				calls.add(shop(instance).mono(() -> later));
				calls.add(shop(instance).flux(later.flux()).single());
				calls.add(Mono.fromFuture(() -> shop(instance).future(later::toFuture)));
				calls
					.add(Mono.fromCallable(() -> shop(instance).plain(alone)).subscribeOn(Schedulers.boundedElastic()));
				calls.add(instance.getBean(ReactiveLockService.class).withLock("shop", later));
			}
		}
		assertThat(Flux.merge(Flux.fromIterable(calls), 250).collectList().block(Duration.ofMinutes(1))).hasSize(250)
			.containsOnly(1);
	}

	@Test
	@DisplayName("A chain under a lock re-enters the lock at once, in methods and services, also on other threads")
	void reentrantChain() {
		Shop shop = shop(this.first);
		ReactiveLockService locks = this.first.getBean(ReactiveLockService.class);
		Mono<Long> fence = ReactiveLeaseContext.current().map((context) -> context.lock().fencingToken());
		Mono<List<Long>> fences = shop
			.mono(() -> Flux
				.concat(fence, shop.mono(() -> fence), Mono.delay(Duration.ofMillis(1)).then(shop.mono(() -> fence)),
						shop.flux(fence.flux()), locks.withLock("shop", fence),
						// The context of the current thread grants re-entry.
						Mono.fromFuture(shop
							.future(() -> CompletableFuture.completedFuture(LockLease.current().fencingToken()))))
				.collectList());
		List<Long> all = fences.block(SOON);
		assertThat(all).hasSize(6);
		assertThat(all.stream().distinct()).hasSize(1);
		assertThat(fences.block(SOON).get(0)).isGreaterThan(all.get(0));
		awaitLocked("shop", false);
	}

	@Test
	@DisplayName("A callback of a reactive transaction re-enters a lock that the transaction keeps")
	void callbackOfTransaction() {
		List<String> ran = new CopyOnWriteArrayList<>();
		Mono<Void> callback = shop(this.first).mono(() -> Mono.<Void>fromRunnable(() -> ran.add("callback")));
		Mono<?> registration = TransactionSynchronizationManager.forCurrentTransaction()
			.doOnNext((manager) -> manager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public Mono<Void> afterCommit() {
					return callback;
				}

				@Override
				public Mono<Void> afterCompletion(int status) {
					return callback;
				}

			}));
		TransactionalOperator transaction = TransactionalOperator.create(new ReactiveTestTransactions((event) -> {
		}));
		registration.then(shop(this.first).mono(() -> Mono.just("done"))).as(transaction::transactional).block(SOON);
		assertThat(ran).hasSize(2);
		awaitLocked("shop", false);
	}

	@Test
	@DisplayName("A method with a future re-enters its lock in its own calls, and in code that opens its context")
	void reentrantFuture() {
		Shop shop = shop(this.first);
		CompletableFuture<Boolean> result = shop.future(() -> {
			long fence = LockLease.current().fencingToken();
			assertThat(shop.plain(() -> LockLease.current().fencingToken())).isEqualTo(fence);
			CompletableFuture<Long> inner = shop
				.future(() -> CompletableFuture.completedFuture(LockLease.current().fencingToken()));
			assertThat(inner.orTimeout(10, TimeUnit.SECONDS).join()).isEqualTo(fence);
			assertThat(shop.mono(() -> Mono.just("in")).block(SOON)).isEqualTo("in");
			LeaseContext context = LeaseContext.current();
			return CompletableFuture.supplyAsync(() -> {
				LeaseContext.Scope scope = context.open();
				try {
					return shop.plain(() -> LockLease.current().fencingToken() == fence);
				}
				finally {
					scope.close();
				}
			});
		});
		assertThat(result).succeedsWithin(SOON).isEqualTo(true);
		awaitLocked("shop", false);
	}

	@Test
	@DisplayName("Cancellation frees the lock in the whole fleet, and cancellation of a wait leaves the queue")
	void cancellation() {
		Disposable running = shop(this.first).mono(Mono::never).subscribe();
		awaitLocked("shop", true);
		CompletableFuture<String> waiting = shop(this.second)
			.future(() -> CompletableFuture.completedFuture("not to be run"));
		await().atMost(SOON).until(() -> locks().status("shop").waiting() == 1);
		waiting.cancel(true);
		await().atMost(SOON).until(() -> locks().status("shop").waiting() == 0);
		CompletableFuture<String> next = shop(this.second).future(() -> CompletableFuture.completedFuture("next"));
		running.dispose();
		assertThat(next).succeedsWithin(SOON).isEqualTo("next");
		SemaphoreService semaphores = this.second.getBean(SemaphoreService.class);
		await().atMost(SOON).until(() -> semaphores.status("shop").used() == 0);
	}

	@Test
	@DisplayName("A forced release cancels the chains and futures with INTERRUPT")
	void loss() {
		CompletableFuture<String> chain = shop(this.first).endless().toFuture();
		awaitLocked("endless", true);
		assertThat(locks().admin().forceRelease("endless")).isTrue();
		assertThat(chain).failsWithin(SOON).withThrowableThat().havingCause().isInstanceOf(LeaseLostException.class);
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> future = shop(this.first).endlessFuture(work);
		awaitLocked("endless", true);
		locks().admin().forceRelease("endless");
		assertThat(future).failsWithin(SOON).withThrowableThat().havingCause().isInstanceOf(LeaseLostException.class);
		assertThat(work).isCancelled();
		CompletableFuture<Void> own = this.first.getBean(ReactiveLockService.class)
			.withLock(LockRequest.of("endless").leaseTime(Duration.ofSeconds(1)), Mono.<Void>never())
			.toFuture();
		awaitLocked("endless", true);
		locks().admin().forceRelease("endless");
		assertThat(own).failsWithin(SOON).withThrowableThat().havingCause().isInstanceOf(LeaseLostException.class);
	}

	static class Shop {

		@DistributedLock(name = "shop", waitTime = "30s")
		public <T> Mono<T> mono(Supplier<Mono<T>> work) {
			return work.get();
		}

		@DistributedLock(name = "shop", waitTime = "30s")
		public <T> Flux<T> flux(Flux<T> work) {
			return work;
		}

		@DistributedLock(name = "shop", waitTime = "30s")
		@Semaphore(name = "shop", limit = 1000)
		public <T> CompletableFuture<T> future(Supplier<CompletableFuture<T>> work) {
			return work.get();
		}

		@DistributedLock(name = "shop", waitTime = "30s")
		public <T> T plain(Supplier<T> work) {
			return work.get();
		}

		@DistributedLock(name = "shop", waitTime = "0")
		public CompletableFuture<String> attempt() {
			return CompletableFuture.completedFuture("had it");
		}

		@DistributedLock(name = "endless", leaseTime = "1s", onLoss = OnLoss.INTERRUPT)
		public Mono<String> endless() {
			return Mono.never();
		}

		@DistributedLock(name = "endless", leaseTime = "1s", onLoss = OnLoss.INTERRUPT)
		public CompletableFuture<String> endlessFuture(CompletableFuture<String> work) {
			return work;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Shop.class)
	static class Application extends TestApplication {

	}

}
