package io.holdfast.async;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

import io.holdfast.LeaseContext;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Code that waits for a future or a sink, and runs on the thread of a lock holder that
 * completes the wait.
 */
@WithRedis
class WokenReceiverTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final Shop shop;

	private final LockService locks;

	private final ReactiveLockService reactiveLocks;

	WokenReceiverTests(TestRedis redis) {
		ConfigurableApplicationContext instance = TestApplication.start(redis, Shop.class);
		this.shop = instance.getBean(Shop.class);
		this.locks = instance.getBean(LockService.class);
		this.reactiveLocks = instance.getBean(ReactiveLockService.class);
	}

	@Test
	@DisplayName("Asynchronous calls of a receiver wait for the holder that wakes it, outside of the holder's context")
	void wokenOutside() {
		wakes((entered) -> this.shop.later(entered));
		wakes((entered) -> this.shop.chain(entered).toFuture());
		wakes((entered) -> this.reactiveLocks.withLock("stock", Mono.fromRunnable(entered)).toFuture());
		wakes((entered) -> this.locks.withLockAsync("stock", () -> {
			entered.run();
			return CompletableFuture.completedFuture(null);
		}));
	}

	private void wakes(Function<Runnable, CompletableFuture<?>> call) {
		CompletableFuture<String> future = new CompletableFuture<>();
		wakes(future, () -> future.complete("now"), call);
		Sinks.One<String> one = Sinks.one();
		wakes(one.asMono().toFuture(), () -> one.tryEmitValue("now"), call);
		Sinks.Many<String> many = Sinks.many().multicast().directBestEffort();
		wakes(many.asFlux().next().toFuture(), () -> many.tryEmitNext("now"), call);
	}

	private void wakes(CompletableFuture<String> signal, Runnable wake, Function<Runnable, CompletableFuture<?>> call) {
		AtomicBoolean entered = new AtomicBoolean();
		CompletableFuture<?> done = signal.thenCompose((value) -> call.apply(() -> entered.set(true)));
		this.shop.plain(() -> {
			try (LeaseContext.Scope outside = LeaseContext.empty().open()) {
				wake.run();
				assertThat(outside).isNotNull();
			}
			await().atMost(SOON).until(() -> entered.get() || this.locks.status("stock").waitingInThisInstance() == 1);
			assertThat(entered).isFalse();
			assertThat(LeaseContext.current().lock().key()).isEqualTo("stock");
		});
		assertThat(done).succeedsWithin(SOON);
		assertThat(entered).isTrue();
		await().atMost(SOON).until(() -> !this.locks.status("stock").isLocked());
	}

	static class Shop {

		@DistributedLock(name = "stock")
		void plain(Runnable work) {
			work.run();
		}

		@DistributedLock(name = "stock")
		CompletableFuture<Void> later(Runnable work) {
			work.run();
			return CompletableFuture.completedFuture(null);
		}

		@DistributedLock(name = "stock")
		Mono<Void> chain(Runnable work) {
			return Mono.fromRunnable(work);
		}

	}

}
