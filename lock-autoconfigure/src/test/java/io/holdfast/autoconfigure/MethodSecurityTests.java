package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestTransactions;
import jakarta.validation.ConstraintViolationException;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.validation.autoconfigure.ValidationAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.access.prepost.PostAuthorize;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.validation.annotation.Validated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Locks and permits beside Spring Security, Hibernate Validator and transactions, with
 * default settings.
 */
class MethodSecurityTests {

	private final ApplicationContextRunner runner = TestApplication
		.runner(ValidationAutoConfiguration.class, AopAutoConfiguration.class)
		.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=500ms")
		.withUserConfiguration(Application.class);

	@AfterEach
	void signOut() {
		SecurityContextHolder.clearContext();
	}

	private static void signIn(String role) {
		SecurityContextHolder.getContext()
			.setAuthentication(new TestingAuthenticationToken("anna", "secret", "ROLE_" + role));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A caller without the role gets AccessDenied while the lock is busy, and does not request the lock")
	void deniedBeforeTheLock(Kind kind) {
		signIn("USER");
		this.runner.run((context) -> whileBusy(context, () -> {
			assertThatExceptionOfType(AccessDeniedException.class)
				.isThrownBy(() -> kind.call(context.getBean(Accounts.class), "1"));
			assertThat(Events.of(context)).isEmpty();
		}));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A caller with the role gets the lock, and the transaction begins inside of it")
	void allowed(Kind kind) {
		signIn("ADMIN");
		this.runner.run((context) -> {
			assertThat(kind.call(context.getBean(Accounts.class), "1")).isEqualTo("closed 1");
			assertThat(Events.of(context)).containsExactly("begin while locked", "body", "commit while locked");
			assertThat(context.getBean(LockService.class).tryAcquire("account")).isPresent();
		});
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Invalid arguments are refused while the lock is busy, by validation and not for the key")
	void invalidBeforeTheLock(Kind kind) {
		signIn("ADMIN");
		this.runner.run((context) -> whileBusy(context, () -> {
			for (String id : new String[] { " ", null }) {
				assertThatExceptionOfType(ConstraintViolationException.class)
					.isThrownBy(() -> kind.call(context.getBean(Accounts.class), id))
					// The message is in the language of the machine.
					.satisfies((ex) -> assertThat(ex.getConstraintViolations()).singleElement()
						.extracting((violation) -> violation.getPropertyPath() + violation.getMessageTemplate())
						.asString()
						.endsWith(".id{jakarta.validation.constraints.NotBlank.message}"));
			}
			assertThat(Events.of(context)).isEmpty();
		}));
	}

	@Test
	@DisplayName("Authorization comes before validation, and checks of the result come after the commit")
	void securityBeforeValidation() {
		this.runner.run((context) -> {
			signIn("USER");
			assertThatExceptionOfType(AccessDeniedException.class)
				.isThrownBy(() -> context.getBean(Accounts.class).withFallback(" "));
			signIn("ADMIN");
			assertThatExceptionOfType(AccessDeniedException.class)
				.isThrownBy(() -> context.getBean(Accounts.class).read("1"));
			assertThatExceptionOfType(ConstraintViolationException.class)
				.isThrownBy(() -> context.getBean(Accounts.class).nothing());
			assertThat(context.getBean(LockService.class).tryAcquire("account")).isPresent();
		});
	}

	@ParameterizedTest
	@ValueSource(ints = { 150, 700 })
	@DisplayName("The order can be set: outside of @PreAuthorize (200) or inside")
	void orderBesideSecurity(int order) {
		signIn("USER");
		this.runner.withPropertyValues("holdfast.aop.order=" + order).run((context) -> whileBusy(context, () -> {
			if (order < 200) {
				assertThat(context.getBean(Accounts.class).withFallback("1")).isEqualTo("busy");
			}
			else {
				assertThatExceptionOfType(AccessDeniedException.class)
					.isThrownBy(() -> context.getBean(Accounts.class).withFallback("1"));
			}
		}));
	}

	/** Hold the lock as another caller. */
	private static void whileBusy(ApplicationContext context, Runnable action) {
		LockLease other = CompletableFuture
			.supplyAsync(() -> context.getBean(LockService.class).acquire(LockRequest.of("account")))
			.join();
		action.run();
		assertThat(other.isHeld()).isTrue();
		other.release();
	}

	enum Kind {

		THROWS, FUTURE;

		String call(Accounts accounts, String id) throws Exception {
			return switch (this) {
				case THROWS -> accounts.close(id);
				case FUTURE -> get(accounts.later(id));
			};
		}

		private static String get(CompletableFuture<String> future) throws Exception {
			try {
				return future.get(10, TimeUnit.SECONDS);
			}
			catch (ExecutionException ex) {
				throw (Exception) ex.getCause();
			}
		}

	}

	@Validated
	static class Accounts {

		private final Events events;

		Accounts(Events events) {
			this.events = events;
		}

		@Transactional
		@PreAuthorize("hasRole('ADMIN')")
		@DistributedLock(key = "#id.isBlank() ? 'account' : 'account'", waitTime = "2s")
		public String close(@NotBlank String id) {
			return body(id);
		}

		@Transactional
		@PreAuthorize("hasRole('ADMIN')")
		@DistributedLock(name = "account", waitTime = "0", fallback = "busy")
		public String withFallback(@NotBlank String id) {
			return body(id);
		}

		String busy(String id) {
			return "busy";
		}

		@Transactional
		@PreAuthorize("hasRole('ADMIN')")
		@DistributedLock(name = "account", waitTime = "2s")
		public CompletableFuture<String> later(@NotBlank String id) {
			return CompletableFuture.completedFuture(body(id));
		}

		@PostAuthorize("returnObject == 'public'")
		@DistributedLock(name = "account")
		public String read(String id) {
			return "private";
		}

		@DistributedLock(name = "account")
		@NotNull
		public String nothing() {
			return null;
		}

		private String body(String id) {
			this.events.add("body");
			return "closed " + id;
		}

	}

	static class Events extends CopyOnWriteArrayList<String> {

		private static final long serialVersionUID = 1L;

		static Events of(ApplicationContext context) {
			return context.getBean(Events.class);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableMethodSecurity
	@EnableTransactionManagement
	static class Application {

		@Bean
		Events events() {
			return new Events();
		}

		@Bean
		TestTransactions transactionManager(LockService locks, Events events) {
			return new TestTransactions((event) -> events.add(event + (isLocked(locks) ? " while locked" : "")));
		}

		private static boolean isLocked(LockService locks) {
			return CompletableFuture
				.supplyAsync(() -> locks.tryAcquire(LockRequest.of("account").waitTime(Duration.ZERO)))
				.join()
				.map(LockLease::release)
				.isEmpty();
		}

		@Bean
		Accounts accounts(Events events) {
			return new Accounts(events);
		}

	}

}
