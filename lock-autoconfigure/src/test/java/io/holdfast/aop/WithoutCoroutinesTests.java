package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Applications without Kotlin.
 */
class WithoutCoroutinesTests {

	@Test
	@DisplayName("Without Kotlin on the class path, methods with results, with futures and with chains have their locks")
	void withoutKotlin() throws Exception {
		HidingClassLoader loader = new HidingClassLoader("kotlin.", "kotlinx.");
		assertThatExceptionOfType(ClassNotFoundException.class)
			.isThrownBy(() -> loader.loadClass("kotlin.coroutines.Continuation"));
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
				shop.sellMono().block();
				context.locks().busy();
				shop.sell();
				shop.sellLater().join();
				shop.sellMono().block();
				return context.locks().events();
			}
		}

	}

	static class Shop {

		private final RecordingLocks recorder;

		Shop(RecordingLocks recorder) {
			this.recorder = recorder;
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		void sell() {
			this.recorder.record("body");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		CompletableFuture<String> sellLater() {
			this.recorder.record("body");
			return CompletableFuture.completedFuture("sold");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Mono<String> sellMono() {
			return Mono.fromSupplier(() -> {
				this.recorder.record("body");
				return "sold";
			});
		}

	}

}
