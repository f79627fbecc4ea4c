package io.holdfast.autoconfigure;

import java.security.Principal;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

import io.holdfast.LeaseLostEvent;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.TestApplication;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * Messages that quote keys, names, namespaces and users: no quoted text begins a line.
 */
@ExtendWith(OutputCaptureExtension.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SingleLineMessagesTests {

	/** Allowed as a key: a line separator and a right-to-left override. */
	private static final String KEY = "a\u2028FORGED\u202Eb";

	private static final String SHOWN_KEY = "a\\u2028FORGED\\u202eb";

	private static final String NAME = "n\r\nFORGED\u2066";

	private static final String SHOWN_NAME = "n\\u000d\\u000aFORGED\\u2066";

	@AutoClose
	private final ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
		.web(WebApplicationType.NONE)
		.properties("holdfast.backend=memory", "holdfast.leak-detection-threshold=1ms")
		.run();

	private final LockService locks = this.context.getBean(LockService.class);

	private final SemaphoreService semaphores = this.context.getBean(SemaphoreService.class);

	private static void assertSingleLines(CapturedOutput output) {
		assertThat(output.toString().lines()).noneMatch((line) -> line.startsWith("FORGED"));
		assertThat(output.toString()).doesNotContain("\u2028", "\u202E", "\u2066");
	}

	static Stream<Callable<?>> refusals() {
		String longKey = "a\nFORGED\u202E" + "x".repeat(1100);
		return Stream.of(() -> LockRequest.of(longKey), () -> SemaphoreRequest.of(longKey, 1),
				() -> SemaphoreRequest.of(KEY, 0), () -> LockRequest.of(KEY).leaseTime(Duration.ZERO),
				() -> LockRequest.of(KEY).waitTime(Duration.ofSeconds(-1)), () -> LockRequest.of(KEY).name(" "),
				() -> LockRequest.of(KEY).namespace(" "), () -> LockRequest.of("a").namespace("t\nFORGED:"),
				() -> LockRequest.of("a").namespace("t\u2028FORGED").namespace("u"),
				() -> LockRequest.of("a").namespace(longKey), () -> SemaphoreRequest.of("a", 1).namespace(longKey));
	}

	@ParameterizedTest
	@MethodSource("refusals")
	@DisplayName("A refused request has a message of one line")
	void refusals(Callable<?> request) {
		assertInOneLine(catchThrowable(request::call));
	}

	private static void assertInOneLine(@Nullable Throwable thrown) {
		assertThat(thrown).isNotNull();
		assertThat(thrown.toString()).doesNotContain("\n", "\r", "\u2028", "\u202E");
	}

	@Test
	@DisplayName("A failure of a service or lease has a message of one line")
	void refusalsOfServices() {
		try (LockLease lease = this.locks.acquire(KEY);
				LockLease several = this.locks.acquire(LockRequest.ofAll(List.of(KEY + 1, KEY + 2)))) {
			assertInOneLine(catchThrowable(
					() -> this.locks.acquire(LockRequest.of(KEY).reentrant(false).waitTime(Duration.ZERO))));
			assertInOneLine(catchThrowable(() -> lease.fencingToken("b\nFORGED")));
			assertInOneLine(catchThrowable(() -> several.fencingToken("b\nFORGED")));
			assertInOneLine(catchThrowable(() -> lease.extend(Duration.ZERO)));
		}
		assertInOneLine(catchThrowable(() -> this.locks.asLock(KEY).unlock()));
		assertInOneLine(catchThrowable(() -> this.semaphores.admin().setLimit("b\nFORGED", -1)));
		assertInOneLine(catchThrowable(() -> this.context.getBean(Shop.class).sell(new FailingKey())));
		assertInOneLine(catchThrowable(() -> this.context.getBean(Shop.class).sell("a\n" + "x".repeat(1100))));
	}

	@Test
	@DisplayName("Log lines of a lease that is held for too long and lost are single lines")
	void lostLease(CapturedOutput output) {
		String thread = Thread.currentThread().getName();
		Thread.currentThread().setName("worker\nFORGED");
		LockLease lease;
		try {
			lease = this.locks.acquire(LockRequest.of(KEY).name(NAME));
		}
		finally {
			Thread.currentThread().setName(thread);
		}
		await().until(() -> output.toString()
			.contains("Lock '" + SHOWN_KEY + "' (" + SHOWN_NAME + ") is still held after 1 ms"));
		assertThat(output).contains("It was acquired by thread worker\\u000aFORGED at ");
		this.locks.admin().forceRelease(KEY);
		await().until(() -> output.toString()
			.contains("The lease of lock '" + SHOWN_KEY + "' (fencing token " + lease.fencingToken() + "), for "
					+ SHOWN_NAME + ", was lost after"));
		await().until(() -> output.toString().contains("Lost LeaseLostEvent[key=" + SHOWN_KEY));
		assertThat(output).contains("Lock '" + SHOWN_KEY + "' was released by force");
		lease.close();
		assertSingleLines(output);
	}

	@Test
	@DisplayName("Log lines of operations are single lines, with the name of the user")
	void operators(CapturedOutput output) {
		SecurityContext user = user("anna\nFORGED");
		LeaseEngine engine = this.context.getBean(LeaseEngine.class);
		LocksEndpoint locks = new LocksEndpoint(engine);
		SemaphoresEndpoint semaphores = new SemaphoresEndpoint(engine);
		LockLease lease = this.locks.acquire(KEY);
		locks.release(KEY, 1L, user);
		locks.release(KEY, null, user);
		locks.release(KEY, null, user);
		assertThat(lease.isHeld()).isFalse();
		lease.release();
		LockLease reader = this.locks.acquire(LockRequest.of(KEY).mode(LockMode.READ));
		this.locks.admin().forceRelease(KEY, LockMode.READ);
		reader.close();
		semaphores.limit(KEY, 3, null, user);
		PermitLease permit = this.semaphores.acquire(SemaphoreRequest.of(KEY));
		semaphores.release(KEY, user);
		assertThat(permit.isHeld()).isFalse();
		permit.close();
		this.semaphores.admin().clearLimit(KEY);
		semaphores.limit(KEY, null, true, user);
		assertInOneLine(catchThrowable(() -> locks.locks("b\nFORGED:", null)));
		assertThat(output).contains("Released lock '" + SHOWN_KEY + "' by force")
			.contains(" (requested at an endpoint by anna\\u000aFORGED)")
			.contains("Lock '" + SHOWN_KEY + "' was not released: its fencing token is not 1")
			.contains("Found nothing to release of lock '" + SHOWN_KEY + "'")
			.contains("The limit of semaphore '" + SHOWN_KEY + "' was set to 3")
			.contains("The limit of semaphore '" + SHOWN_KEY + "' was cleared")
			.contains("Found no limit of semaphore '" + SHOWN_KEY + "'")
			.doesNotContain("Cleared the limit")
			.contains("The permits of semaphore '" + SHOWN_KEY + "' were released by force");
		assertSingleLines(output);
	}

	private static SecurityContext user(String name) {
		return new SecurityContext() {

			@Override
			public Principal getPrincipal() {
				return () -> name;
			}

			@Override
			public boolean isUserInRole(String role) {
				return false;
			}

		};
	}

	@Test
	@DisplayName("Requests, leases, views and events describe themselves in one line")
	void descriptions() {
		try (LockLease lease = this.locks.acquire(KEY);
				LockLease several = this.locks.acquire(LockRequest.ofAll(List.of(KEY + 1, KEY + 2)))) {
			assertThat(Stream.of(LockRequest.of(KEY).name(NAME), SemaphoreRequest.of(KEY, 1).name(NAME), lease, several,
					this.locks.asLock(KEY), this.locks.asReadWriteLock(KEY),
					this.locks.asReadWriteLock(KEY).readLock()))
				.allSatisfy((object) -> assertThat(object.toString()).contains("\\u2028")
					.doesNotContain("\u2028", "\u202E", "\n"));
		}
	}

	/** Key whose text is known only at the call. */
	static class FailingKey {

		public String getId() {
			throw new IllegalStateException("b\nFORGED");
		}

		@Override
		public String toString() {
			return "b\nFORGED" + "x".repeat(1100);
		}

	}

	static class Shop {

		@DistributedLock(key = "#order")
		void sell(Object order) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ TestApplication.class, Shop.class })
	static class Application {

		@EventListener
		void lost(LeaseLostEvent event) {
			System.out.println("Lost " + event);
		}

	}

}
