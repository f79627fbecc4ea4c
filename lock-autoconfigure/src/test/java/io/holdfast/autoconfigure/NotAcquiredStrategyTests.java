package io.holdfast.autoconfigure;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.CallScope;
import io.holdfast.testing.TestApplication;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.support.ScopeNotActiveException;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.util.Assert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Applications with a {@link NotAcquiredStrategy}.
 */
class NotAcquiredStrategyTests {

	private static final ThreadLocal<@Nullable String> REQUEST = new ThreadLocal<>();

	private final ApplicationContextRunner runner = TestApplication.runner()
		.withPropertyValues("holdfast.lock.wait-time=0")
		.withBean(Shop.class);

	@AfterEach
	void leaveRequest() {
		REQUEST.remove();
	}

	private void whileBusy(NotAcquiredStrategy strategy, Consumer<Shop> calls) {
		whileBusy(this.runner.withBean(NotAcquiredStrategy.class, () -> strategy), calls);
	}

	/**
	 * Make calls while another owner has the lock of the shop, and then while the lock is
	 * free.
	 */
	private static void whileBusy(ApplicationContextRunner runner, Consumer<Shop> calls) {
		runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			Shop shop = context.getBean(Shop.class);
			try (LockLease other = locks.acquireAsync(LockRequest.of("shop")).join()) {
				assertThat(other.isHeld()).isTrue();
				calls.accept(shop);
			}
			assertThat(shop.text()).isEqualTo("text");
			assertThat(shop.future()).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo("future");
			assertThat(shop.chain().block()).isEqualTo("chain");
		});
	}

	/** Run with a request-scoped strategy. */
	private ApplicationContextRunner withStrategyOfRequest() {
		return this.runner
			.withInitializer((context) -> context.getBeanFactory()
				.registerScope("request", new CallScope(NotAcquiredStrategyTests::request)))
			.withBean(NotAcquiredStrategy.class, () -> {
				String request = request();
				return (method, ex) -> {
					throw new BusyException(request, ex);
				};
			}, (definition) -> definition.setScope("request"));
	}

	private static String request() {
		String request = REQUEST.get();
		Assert.state(request != null, "There is no request");
		return request;
	}

	@Test
	@DisplayName("The strategy's results replace the method's")
	void results() {
		whileBusy(NotAcquiredStrategyTests::busy, (shop) -> {
			assertThat(shop.text()).isEqualTo("busy");
			assertThat(shop.number()).isEqualTo(-1);
			assertThat(shop.future()).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo("busy");
			assertThat(shop.chain().block()).isEqualTo("busy");
			shop.nothing();
		});
	}

	private static @Nullable Object busy(Method method, NotAcquiredException ex) {
		return switch (method.getName()) {
			case "number" -> -1;
			case "future" -> CompletableFuture.completedFuture("busy");
			case "chain" -> Mono.just("busy");
			default -> "busy";
		};
	}

	@Test
	@DisplayName("Methods with a fallback, and skipped methods, do not use the strategy")
	void ownWayOut() {
		whileBusy(NotAcquiredStrategyTests::busy, (shop) -> {
			assertThat(shop.withFallback()).isEqualTo("fallback");
			assertThat(shop.skipped()).isEmpty();
		});
	}

	@Test
	@DisplayName("A self-blocked thread does not use the strategy")
	void selfBlocked() {
		this.runner.withBean(NotAcquiredStrategy.class, () -> NotAcquiredStrategyTests::busy).run((context) -> {
			Shop shop = context.getBean(Shop.class);
			assertThatExceptionOfType(NotAcquiredException.class).isThrownBy(() -> shop.reading(shop::writing))
				.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SELF_BLOCKED));
		});
	}

	@Test
	@DisplayName("A result of the wrong type is refused, with strategy, result and method")
	void wrongResults() {
		whileBusy((method, ex) -> method.getReturnType() == String.class ? 1 : null, (shop) -> {
			assertThatIllegalStateException().isThrownBy(shop::text)
				.withMessageContainingAll("NotAcquiredStrategyTests", "a java.lang.Integer", "Shop.text()")
				.withCauseInstanceOf(LockNotAcquiredException.class);
			assertThatIllegalStateException().isThrownBy(shop::number).withMessageContaining("gave null");
			assertThat(shop.future()).failsWithin(10, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(IllegalStateException.class);
			assertThatIllegalStateException().isThrownBy(() -> shop.chain().block());
		});
	}

	@Test
	@DisplayName("A scoped strategy without a proxy is resolved for each call, in each kind of method")
	void ofScope() {
		whileBusy(withStrategyOfRequest(), (shop) -> {
			for (String request : List.of("first", "second")) {
				REQUEST.set(request);
				CompletableFuture<String> future = shop.future();
				Mono<String> chain = shop.chain();
				assertThatExceptionOfType(BusyException.class).isThrownBy(shop::text)
					.withMessage(request)
					.withCauseInstanceOf(LockNotAcquiredException.class);
				REQUEST.remove();
				assertThat(future).failsWithin(10, TimeUnit.SECONDS)
					.withThrowableThat()
					.withCauseInstanceOf(BusyException.class)
					.withMessageContaining(request);
				assertThatExceptionOfType(BusyException.class).isThrownBy(chain::block).withMessage(request);
			}
		});
	}

	@Test
	@DisplayName("Outside of the strategy's scope callers get the exception, which mentions the missing strategy")
	void outsideOfScope() {
		whileBusy(withStrategyOfRequest(), (shop) -> {
			for (ThrowingCallable call : List.<ThrowingCallable>of(shop::text, () -> shop.chain().block(), () -> {
				try {
					shop.future().get(10, TimeUnit.SECONDS);
				}
				catch (ExecutionException ex) {
					throw ex.getCause();
				}
			})) {
				assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(call)
					.satisfies((ex) -> assertThat(ex.getSuppressed())
						.hasAtLeastOneElementOfType(ScopeNotActiveException.class));
			}
		});
	}

	static class BusyException extends RuntimeException {

		private static final long serialVersionUID = 1L;

		BusyException(String message, Throwable cause) {
			super(message, cause);
		}

	}

	static class Shop {

		@DistributedLock(name = "shop")
		public String text() {
			return "text";
		}

		@DistributedLock(name = "shop")
		public void nothing() {
			throw new AssertionError("Called");
		}

		@DistributedLock(name = "shop")
		public int number() {
			return 1;
		}

		@DistributedLock(name = "shop")
		@Semaphore(name = "permits", limit = 1)
		public CompletableFuture<String> future() {
			return CompletableFuture.completedFuture("future");
		}

		@DistributedLock(name = "shop")
		public Mono<String> chain() {
			return Mono.just("chain");
		}

		@DistributedLock(name = "shop", fallback = "fallback")
		public String withFallback() {
			return "text";
		}

		String fallback() {
			return "fallback";
		}

		@DistributedLock(name = "shop", onTimeout = OnTimeout.SKIP)
		public Optional<String> skipped() {
			return Optional.of("text");
		}

		@DistributedLock(name = "own", mode = LockMode.READ)
		public String reading(Supplier<String> inside) {
			return inside.get();
		}

		@DistributedLock(name = "own", mode = LockMode.EXCLUSIVE)
		public String writing() {
			return "written";
		}

	}

}
