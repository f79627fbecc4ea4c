package io.holdfast.async;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLeaseContext;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.ReactiveTestTransactions;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
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
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
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

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Shop.class)
	static class Application extends TestApplication {

	}

}
