package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Applications without Reactor.
 */
class WithoutReactorTests {

	@Test
	@DisplayName("Without Reactor on the class path, methods with results and with futures have their locks")
	void withoutReactor() throws Exception {
		HidingClassLoader loader = new HidingClassLoader("reactor.", "org.reactivestreams.");
		assertThatExceptionOfType(ClassNotFoundException.class)
			.isThrownBy(() -> loader.loadClass("reactor.core.publisher.Mono"));
		assertThat(loader.run(Application.class))
			.isEqualTo(List.of("lock", "body", "unlock", "lock", "body", "unlock"));
	}

	static class Application implements Callable<List<String>> {

		@Override
		public List<String> call() {
			try (LockedContext context = LockedContext.withClassProxies(Shop.class)) {
				Shop shop = context.bean(Shop.class);
				shop.sell();
				shop.sellLater().join();
				context.locks().busy();
				shop.sell();
				shop.sellLater().join();
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

	}

}
