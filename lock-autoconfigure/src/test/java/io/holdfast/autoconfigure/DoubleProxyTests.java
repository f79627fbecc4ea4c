package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestTransactions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.ProxyFactoryBean;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Permits, which are never nested: calls through two proxies, and calls whose method does
 * not run.
 */
class DoubleProxyTests {

	private final ApplicationContextRunner runner = TestApplication.runner()
		.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=500ms")
		.withUserConfiguration(Application.class);

	@ParameterizedTest
	@ValueSource(strings = { "inner", "made", "factoryMade", "byClass", "byClassAgain", "alias", "aliasOfByClass" })
	@DisplayName("F45 a call through any number and kind of proxies takes its permit once, outside of the transaction")
	void oncePerCall(String bean) {
		this.runner.run((context) -> {
			Service service = context.getBean(bean, Service.class);
			List<String> events = context.getBean(Application.class).events;
			for (int i = 0; i < 3; i++) {
				events.clear();
				assertThat(service.plain()).isEqualTo(1);
				assertThat(events).startsWith("begin, 1 used").allMatch((event) -> event.endsWith(", 1 used"));
				assertThat(service.later().get(10, TimeUnit.SECONDS)).isEqualTo(1);
				assertThat(service.mono().block(Duration.ofSeconds(10))).isEqualTo(1);
			}
			assertThat(context.getBean(SemaphoreService.class).status("s").used()).isZero();
		});
	}

	@Test
	@DisplayName("F45 a method that calls another through the inner proxy makes a new call")
	void callsOfItsOwn() {
		this.runner.run((context) -> {
			Service service = context.getBean("made", Service.class);
			assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(service::callsItself);
			assertThat(service.plain()).isEqualTo(1);
		});
	}

	@Test
	@DisplayName("Further calls through two proxies on the way to the inner proxy leave the permit taken once")
	void callsOnTheWay() {
		this.runner.run((context) -> {
			Service service = context.getBean("calling", Service.class);
			assertThat(service.plain()).isEqualTo(1);
			assertThat(service.later().get(10, TimeUnit.SECONDS)).isEqualTo(1);
			assertThat(service.mono().block(Duration.ofSeconds(10))).isEqualTo(1);
			assertThat(context.getBean(SemaphoreService.class).status("s").used()).isZero();
		});
	}

	@Test
	@DisplayName("An annotated method that is called on the way and calls the inner proxy needs its own permit")
	void callsOfOthersOnTheWay() {
		this.runner.run((context) -> assertThat(context.getBean("meddling", Service.class).plain()).isEqualTo(1));
	}

	@ParameterizedTest
	@ValueSource(strings = { "plain", "later", "mono" })
	@DisplayName("minHold does not keep a permit if the lock was not acquired, and the method did not run")
	void notKeptIfNotRun(String kind) {
		this.runner.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			try (LockLease other = context.getBean(LockService.class).acquire("l")) {
				CompletableFuture.runAsync(() -> call(jobs, kind)).get(10, TimeUnit.SECONDS);
				assertThat(used(context)).isZero();
				assertThat(jobs.calls()).isZero();
				other.ensureHeld();
			}
			call(jobs, kind);
			assertThat(jobs.calls()).isEqualTo(1);
			assertThat(used(context)).isEqualTo(1);
		});
	}

	private static void call(Jobs jobs, String kind) {
		switch (kind) {
			case "plain" -> jobs.plain();
			case "later" -> jobs.later().orTimeout(10, TimeUnit.SECONDS).join();
			default -> jobs.mono().block(Duration.ofSeconds(10));
		}
	}

	private static int used(ApplicationContext context) {
		return context.getBean(SemaphoreService.class).status("kept").used();
	}

	interface Service {

		Integer plain();

		CompletableFuture<Integer> later();

		Mono<Integer> mono();

		void callsItself();

	}

	static class Permitted implements Service {

		private final SemaphoreService semaphores;

		private final Service inner;

		Permitted(SemaphoreService semaphores, Service inner) {
			this.semaphores = semaphores;
			this.inner = inner;
		}

		private int used() {
			return this.semaphores.status("s").used();
		}

		@Override
		@Transactional
		@Semaphore(name = "s", limit = 1)
		public Integer plain() {
			return used();
		}

		@Override
		@Semaphore(name = "s", limit = 1)
		public CompletableFuture<Integer> later() {
			return CompletableFuture.completedFuture(used());
		}

		@Override
		@Semaphore(name = "s", limit = 1)
		public Mono<Integer> mono() {
			return Mono.fromSupplier(this::used);
		}

		@Override
		@Semaphore(name = "s", limit = 1)
		public void callsItself() {
			this.inner.plain();
		}

	}

	static class Other implements Runnable {

		private final Runnable action;

		Other(Runnable action) {
			this.action = action;
		}

		@Override
		@Semaphore(name = "other", limit = 1)
		public void run() {
			this.action.run();
		}

	}

	static class Jobs {

		private int calls;

		public int calls() {
			return this.calls;
		}

		@Semaphore(name = "kept", limit = 1, minHold = "1h")
		@DistributedLock(name = "l", waitTime = "0", onTimeout = OnTimeout.SKIP)
		public void plain() {
			this.calls++;
		}

		@Semaphore(name = "kept", limit = 1, minHold = "1h")
		@DistributedLock(name = "l", waitTime = "0", onTimeout = OnTimeout.SKIP)
		public CompletableFuture<Void> later() {
			this.calls++;
			return CompletableFuture.completedFuture(null);
		}

		@Semaphore(name = "kept", limit = 1, minHold = "1h")
		@DistributedLock(name = "l", waitTime = "0", onTimeout = OnTimeout.SKIP)
		public Mono<Void> mono() {
			this.calls++;
			return Mono.empty();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(proxyTargetClass = true)
	static class Application {

		final List<String> events = new CopyOnWriteArrayList<>();

		@Bean
		TestTransactions transactions(SemaphoreService semaphores) {
			return new TestTransactions(
					(event) -> this.events.add(event + ", " + semaphores.status("s").used() + " used"));
		}

		@Bean
		Service inner(SemaphoreService semaphores, @Lazy @Qualifier("inner") Service inner) {
			return new Permitted(semaphores, inner);
		}

		@Bean(defaultCandidate = false)
		Service made(@Qualifier("inner") Service inner) {
			return (Service) new ProxyFactory(inner).getProxy();
		}

		@Bean(defaultCandidate = false)
		ProxyFactoryBean factoryMade() {
			ProxyFactoryBean factory = new ProxyFactoryBean();
			factory.setTargetName("inner");
			factory.setInterfaces(Service.class);
			return factory;
		}

		@Bean(defaultCandidate = false)
		Service byClass(@Qualifier("inner") Service inner) {
			ProxyFactory factory = new ProxyFactory(inner);
			factory.setProxyTargetClass(true);
			return (Service) factory.getProxy();
		}

		@Bean(defaultCandidate = false)
		Service byClassAgain(@Qualifier("byClass") Service inner) {
			return byClass(inner);
		}

		@Bean(defaultCandidate = false)
		Service alias(@Qualifier("inner") Service inner) {
			return inner;
		}

		@Bean(defaultCandidate = false)
		Service aliasOfByClass(@Qualifier("byClass") Service inner) {
			return inner;
		}

		@Bean(defaultCandidate = false)
		Service calling(@Qualifier("inner") Service inner, @Qualifier("otherMade") Runnable other) {
			return before(inner, other);
		}

		@Bean(defaultCandidate = false)
		Runnable other() {
			return new Other(() -> {
			});
		}

		@Bean(defaultCandidate = false)
		Runnable otherMade(@Qualifier("other") Runnable other) {
			return (Runnable) new ProxyFactory(other).getProxy();
		}

		@Bean(defaultCandidate = false)
		Service meddling(@Qualifier("inner") Service inner, @Qualifier("meddler") Runnable meddler) {
			return before(inner, meddler);
		}

		@Bean(defaultCandidate = false)
		Runnable meddler(@Qualifier("inner") Service inner) {
			return new Other(
					() -> assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(inner::plain));
		}

		private static Service before(Service inner, Runnable action) {
			ProxyFactory factory = new ProxyFactory(inner);
			factory.addAdvice((MethodBeforeAdvice) (method, args, target) -> action.run());
			return (Service) factory.getProxy();
		}

		@Bean
		Jobs jobs() {
			return new Jobs();
		}

	}

}
