package io.holdfast.autoconfigure;

import java.lang.reflect.Method;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Applications with a {@link NotAcquiredStrategy}.
 */
class NotAcquiredStrategyTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class))
		.withPropertyValues("holdfast.backend=memory", "holdfast.lock.wait-time=0")
		.withBean(Shop.class);

	/** Calls while another owner has the lock and all permits of the shop. */
	private void whileBusy(NotAcquiredStrategy strategy, Consumer<Shop> calls) {
		this.runner.withBean(NotAcquiredStrategy.class, () -> strategy).run((context) -> {
			LockService locks = context.getBean(LockService.class);
			try (LockLease other = locks.acquireAsync(LockRequest.of("shop")).join()) {
				assertThat(other.isHeld()).isTrue();
				calls.accept(context.getBean(Shop.class));
			}
			assertThat(context.getBean(Shop.class).text()).isEqualTo("text");
		});
	}

	@Test
	@DisplayName("What the strategy throws, the caller gets, in each kind of method")
	void exceptions() {
		whileBusy((method, ex) -> {
			assertThat(ex.getReason()).isEqualTo(Reason.TIMED_OUT);
			throw new BusyException(method.getName(), ex);
		}, (shop) -> {
			assertThatExceptionOfType(BusyException.class).isThrownBy(shop::text)
				.withMessage("text")
				.withCauseInstanceOf(LockNotAcquiredException.class);
			assertThatExceptionOfType(BusyException.class).isThrownBy(shop::nothing);
			assertThat(shop.future()).failsWithin(10, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(BusyException.class);
			assertThatExceptionOfType(BusyException.class).isThrownBy(() -> shop.chain().block());
		});
	}

	@Test
	@DisplayName("Its results take the place of the method's")
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
	@DisplayName("Methods with a fallback, or that are skipped, do not ask it")
	void ownWayOut() {
		whileBusy(NotAcquiredStrategyTests::busy, (shop) -> {
			assertThat(shop.withFallback()).isEqualTo("fallback");
			assertThat(shop.skipped()).isEmpty();
		});
	}

	@Test
	@DisplayName("It is not asked for a thread that would block itself")
	void selfBlocked() {
		this.runner.withBean(NotAcquiredStrategy.class, () -> NotAcquiredStrategyTests::busy).run((context) -> {
			Shop shop = context.getBean(Shop.class);
			assertThatExceptionOfType(NotAcquiredException.class).isThrownBy(() -> shop.reading(shop::writing))
				.satisfies((ex) -> assertThat(ex.getReason()).isEqualTo(Reason.SELF_BLOCKED));
		});
	}

	@Test
	@DisplayName("A result that the method cannot have is refused, naming strategy, result and method")
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

		@DistributedLock(name = "own", mode = LockMode.WRITE)
		public String writing() {
			return "written";
		}

	}

}
