package io.holdfast.autoconfigure;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus.Owner;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.ClassUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Applications that keep their locks and permits in memory.
 */
class MemoryBackendTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final ApplicationContextRunner runner = TestApplication.runner();

	/** On a new thread, whose code holds nothing. */
	private static <T> T onAnotherThread(Supplier<T> call) {
		return begin(call).orTimeout(SOON.toSeconds(), TimeUnit.SECONDS).join();
	}

	private static <T> CompletableFuture<T> begin(Supplier<T> call) {
		return CompletableFuture.supplyAsync(call, (task) -> new Thread(task).start());
	}

	@Test
	@DisplayName("Annotated methods are locked and limited")
	void annotations() {
		this.runner.withUserConfiguration(Application.class).run((context) -> {
			Shop shop = context.getBean(Shop.class);
			assertThat(shop.locked(() -> onAnotherThread(() -> attempt(() -> shop.locked(() -> "in")))))
				.isEqualTo("refused");
			assertThat(shop.limited(() -> attempt(() -> shop.limited(() -> "in")))).isEqualTo("in");
			assertThat(shop.limited(() -> shop.limited(() -> attempt(() -> shop.limited(() -> "in")))))
				.isEqualTo("refused");
			assertThat(attempt(() -> shop.locked(() -> "in"))).isEqualTo("in");
			assertThat(context.getBean(MemoryLeases.class).isIdle()).isTrue();
		});
	}

	@Test
	@DisplayName("A method that is first called after the end of its context is refused because of the shutdown")
	void firstCallAfterTheEnd() {
		List<Shop> shops = new ArrayList<>();
		this.runner.withUserConfiguration(Application.class).run((context) -> shops.add(context.getBean(Shop.class)));
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> shops.get(0).locked(() -> "in"))
			.extracting(NotAcquiredException::getReason)
			.isEqualTo(Reason.SHUTDOWN);
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(() -> shops.get(0).limited(() -> "in"))
			.extracting(NotAcquiredException::getReason)
			.isEqualTo(Reason.SHUTDOWN);
	}

	private static String attempt(Supplier<String> call) {
		try {
			return call.get();
		}
		catch (LockNotAcquiredException | PermitNotAcquiredException ex) {
			return "refused";
		}
	}

	@Test
	@DisplayName("Spring Data Redis is not needed: the JVM runs without it and without a driver")
	void withoutRedisOnTheClassPath() {
		List<String> redis = List.of("spring-data-redis", "spring-boot-data-redis", "lettuce", "jedis");
		try (ChildJvm child = ChildJvm.startWithout(redis, Application.class)) {
			child.awaitLine("Spring Data Redis: false", ChildProcess.PATIENCE);
			child.awaitLine("locked: true", ChildProcess.PATIENCE);
			assertThat(child.awaitExit(ChildProcess.PATIENCE)).isZero();
		}
	}

	@Test
	@DisplayName("No optional library is needed")
	void withoutOptionalLibraries() {
		List<String> optional = List.of("spring-boot-sql", "spring-boot-jdbc", "spring-jdbc", "jedis", "kotlin",
				"blockhound", "micrometer-core", "spring-boot-actuator", "spring-boot-health", "spring-web", "jackson");
		try (ChildJvm child = ChildJvm.startWithout(optional, Application.class)) {
			child.awaitLine("locked: true", ChildProcess.PATIENCE);
			assertThat(child.awaitExit(ChildProcess.PATIENCE)).isZero();
		}
	}

	@Test
	@DisplayName("A configured Redis is not used, and need not answer")
	void leavesRedisAlone() throws IOException {
		try (ServerSocket silent = new ServerSocket(0)) {
			this.runner.withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
				.withPropertyValues("spring.data.redis.port=" + silent.getLocalPort())
				.run((context) -> {
					assertThat(context).hasSingleBean(RedisConnectionFactory.class);
					context.getBean(LockService.class).acquire("a").close();
					assertThat(onAnotherThread(
							() -> context.getBean(SemaphoreService.class).tryAcquire(SemaphoreRequest.of("a", 1))))
						.hasValueSatisfying(PermitLease::close);
				});
			silent.setSoTimeout(1);
			assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(silent::accept);
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A line at the start says that other JVMs are not excluded")
	void saysSo(CapturedOutput output) {
		this.runner.withUserConfiguration(AnotherEngine.class).run((context) -> {
			assertThat(context.getBeanNamesForType(LeaseEngine.class)).hasSize(2);
			context.getBean(LockService.class).acquire("a").close();
		});
		assertThat(output.getOut().lines().filter((line) -> line.contains("holdfast.backend=memory"))).singleElement()
			.satisfies((line) -> assertThat(line).contains("INFO").contains("exclude no other process"));
	}

	@Test
	@DisplayName("Each context has its own memory, which its children share")
	void contextsDoNotShare() {
		this.runner.run((context) -> {
			LockLease lease = context.getBean(LockService.class).acquire("shop");
			this.runner.run((other) -> assertThat(other.getBean(LockService.class).tryAcquire("shop"))
				.hasValueSatisfying(LockLease::close));
			this.runner.withParent(context).withUserConfiguration(Application.class).run((child) -> {
				assertThat(child.getBean(LockService.class)).isSameAs(context.getBean(LockService.class));
				assertThat(child.getBean(SemaphoreService.class)).isSameAs(context.getBean(SemaphoreService.class));
				assertThat(child.getBeanNamesForType(LeaseEngine.class)).isEmpty();
				assertThat(child.getBeanNamesForType(MemoryLeases.class)).isEmpty();
				assertThat(onAnotherThread(() -> attempt(() -> child.getBean(Shop.class).locked(() -> "in"))))
					.isEqualTo("refused");
			});
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
	}

	@Test
	@DisplayName("Contexts with the same MemoryLeases exclude each other, and the end of one does not affect the other")
	void contextsThatShare() {
		MemoryLeases shared = new MemoryLeases(System::nanoTime);
		ApplicationContextRunner sharing = this.runner.withBean(MemoryLeases.class, () -> shared);
		sharing.run((context) -> {
			LockService here = context.getBean(LockService.class);
			CompletableFuture<LockLease> waiting = new CompletableFuture<>();
			sharing.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=1s").run((other) -> {
				LockLease there = other.getBean(LockService.class).acquire("a");
				assertThat(here.tryAcquire("a")).isEmpty();
				assertThat(here.status("a").owner()).isEqualTo(Owner.OTHER_INSTANCE);
				here.acquireAsync(LockRequest.of("a")).thenAccept(waiting::complete);
				await("the other's queue").atMost(SOON).until(() -> here.status("a").waiting() == 1);
				assertThat(there.isHeld()).isTrue();
			});
			assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::close);
			assertThat(shared.isIdle()).isTrue();
		});
	}

	@Test
	@DisplayName("An application's own engine takes precedence")
	void ownEngine() {
		LeaseEngine own = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
				EngineSettings.defaults());
		this.runner.withBean("own", LeaseEngine.class, () -> own).run((context) -> {
			assertThat(context.getBeanNamesForType(LeaseEngine.class)).containsExactly("own");
			context.getBean(LockService.class).acquire("a").close();
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "memory", "MEMORY", "Memory" })
	@DisplayName("The value of the property may have any case")
	void anyCase(String value) {
		this.runner.withPropertyValues("holdfast.backend=" + value)
			.run((context) -> assertThat(context).hasSingleBean(MemoryLeases.class));
	}

	static class Shop {

		@DistributedLock(name = "shop", waitTime = "0")
		public String locked(Supplier<String> body) {
			return body.get();
		}

		@Semaphore(name = "shop", limit = 2)
		public String limited(Supplier<String> body) {
			return body.get();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Shop.class)
	static class Application {

		public static void main(String[] args) {
			System.out.println("Spring Data Redis: "
					+ ClassUtils.isPresent("org.springframework.data.redis.core.RedisOperations", null));
			try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
				.web(WebApplicationType.NONE)
				.run("--holdfast.backend=memory")) {
				LockService locks = context.getBean(LockService.class);
				System.out.println(
						"locked: " + context.getBean(Shop.class).locked(() -> "" + locks.status("shop").isLocked()));
			}
		}

	}

}
