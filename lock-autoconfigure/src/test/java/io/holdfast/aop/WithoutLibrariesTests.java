package io.holdfast.aop;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

import org.springframework.resilience.annotation.Retryable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Applications without an optional library of Holdfast.
 */
class WithoutLibrariesTests {

	static Stream<Arguments> libraries() {
		return Stream.of(
				Arguments.of(new String[] { "kotlin.", "kotlinx." }, "kotlin.coroutines.Continuation",
						ReactiveApplication.class, 3),
				Arguments.of(new String[] { "org.springframework.transaction." },
						"org.springframework.transaction.support.TransactionSynchronization", ReactiveApplication.class,
						3),
				Arguments.of(new String[] { "org.aspectj." }, "org.aspectj.lang.JoinPoint", ResilientApplication.class,
						2),
				Arguments.of(new String[] { "reactor.", "org.reactivestreams." }, "reactor.core.publisher.Mono",
						Application.class, 2));
	}

	@ParameterizedTest(name = "{1}")
	@MethodSource("libraries")
	@DisplayName("Methods with results, futures and chains take their locks, and release them afterwards")
	void without(String[] hidden, String missing, Class<? extends Callable<List<String>>> application, int methods)
			throws Exception {
		HidingClassLoader loader = new HidingClassLoader(hidden);
		assertThatExceptionOfType(ClassNotFoundException.class).isThrownBy(() -> loader.loadClass(missing));
		assertThat(loader.run(application)).isEqualTo(Collections.nCopies(methods, List.of("lock", "body", "unlock"))
			.stream()
			.flatMap(List::stream)
			.toList());
	}

	static class Application implements Callable<List<String>> {

		@Override
		public List<String> call() {
			return call(Shop.class, Application::sell);
		}

		static <T extends Shop> List<String> call(Class<T> type, Consumer<T> calls, Class<?>... configuration) {
			try (LockedContext context = new LockedContext(
					Stream.concat(Stream.of(type), Stream.of(configuration)).toArray(Class<?>[]::new))) {
				T shop = context.bean(type);
				calls.accept(shop);
				context.locks().busy();
				calls.accept(shop);
				return context.locks().events();
			}
		}

		static void sell(Shop shop) {
			shop.sell();
			shop.sellLater().join();
		}

	}

	static class ReactiveApplication implements Callable<List<String>> {

		@Override
		public List<String> call() {
			return Application.call(ReactiveShop.class, (shop) -> {
				Application.sell(shop);
				shop.sellMono().block();
			});
		}

	}

	static class ResilientApplication implements Callable<List<String>> {

		@Override
		public List<String> call() {
			return Application.call(RetriedShop.class, Application::sell, AdviceOrderTests.EarlyResilient.class);
		}

	}

	static class Shop extends Recorded {

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

	static class ReactiveShop extends Shop {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Mono<String> sellMono() {
			return Mono.fromSupplier(() -> {
				this.recorder.record("body");
				return "sold";
			});
		}

	}

	@Retryable
	static class RetriedShop extends Shop {

	}

}
