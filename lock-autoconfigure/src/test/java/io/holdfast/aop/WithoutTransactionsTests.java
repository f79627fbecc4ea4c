package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Applications without spring-tx.
 */
class WithoutTransactionsTests {

	@Test
	@DisplayName("Without spring-tx on the class path, locks are released after their methods")
	void withoutSpringTx() throws Exception {
		HidingClassLoader loader = new HidingClassLoader("org.springframework.transaction.");
		assertThatExceptionOfType(ClassNotFoundException.class)
			.isThrownBy(() -> loader.loadClass("org.springframework.transaction.support.TransactionSynchronization"));
		assertThat(loader.run(Application.class))
			.isEqualTo(List.of("lock", "body", "unlock", "lock", "body", "unlock", "lock", "body", "unlock"));
	}

	static class Application implements Callable<List<String>> {

		@Override
		public List<String> call() {
			try (LockedContext context = LockedContext.withClassProxies(Shop.class)) {
				Shop shop = context.bean(Shop.class);
				shop.sell();
				shop.sellLater().join();
				shop.sellReactively().block();
				return context.locks().events();
			}
		}

	}

	static class Shop {

		private final RecordingLocks recorder;

		Shop(RecordingLocks recorder) {
			this.recorder = recorder;
		}

		@DistributedLock
		void sell() {
			this.recorder.record("body");
		}

		@DistributedLock
		CompletableFuture<String> sellLater() {
			this.recorder.record("body");
			return CompletableFuture.completedFuture("sold");
		}

		@DistributedLock
		Mono<String> sellReactively() {
			this.recorder.record("body");
			return Mono.just("sold");
		}

	}

}
