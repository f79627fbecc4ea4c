package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

import io.holdfast.SemaphoreService;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Calls of beans with a class proxy inside of further proxies.
 */
class SeveralProxiesTests {

	private final ApplicationContextRunner runner = TestApplication.runner().withUserConfiguration(Application.class);

	@ParameterizedTest
	@ValueSource(strings = { "inner", "alias", "made", "madeOfMade", "aliasOfMade" })
	@DisplayName("A call takes its permit once, outside of the transaction, for any number of proxies")
	void once(String bean) {
		this.runner.run((context) -> {
			Service service = context.getBean(bean, Service.class);
			List<String> events = context.getBean(Application.class).events;
			for (int i = 0; i < 2; i++) {
				events.clear();
				service.plain();
				assertThat(events).containsExactly("begin, 1 used", "runs", "commit, 1 used");
				assertThat(service.later().get(10, TimeUnit.SECONDS)).isEqualTo(1);
				assertThat(service.mono().block(Duration.ofSeconds(10))).isEqualTo(1);
			}
			assertThat(context.getBean(SemaphoreService.class).status("s").used()).isZero();
		});
	}

	static class Service {

		private final List<String> events;

		private final SemaphoreService semaphores;

		Service() {
			throw new AssertionError("Proxies are made without it");
		}

		Service(List<String> events, SemaphoreService semaphores) {
			this.events = events;
			this.semaphores = semaphores;
		}

		@Semaphore(name = "s", limit = 1, waitTime = "0s")
		@Transactional
		public void plain() {
			this.events.add("runs");
		}

		@Semaphore(name = "s", limit = 1, waitTime = "0s")
		public CompletableFuture<Integer> later() {
			return CompletableFuture.completedFuture(this.semaphores.status("s").used());
		}

		@Semaphore(name = "s", limit = 1, waitTime = "0s")
		public Mono<Integer> mono() {
			return Mono.fromCallable(() -> this.semaphores.status("s").used());
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(proxyTargetClass = true)
	static class Application {

		final List<String> events = new CopyOnWriteArrayList<>();

		@Bean
		RecordingTransactions transactions(SemaphoreService semaphores) {
			return new RecordingTransactions(
					(event) -> this.events.add(event + ", " + semaphores.status("s").used() + " used"));
		}

		@Bean
		Service inner(SemaphoreService semaphores) {
			return new Service(this.events, semaphores);
		}

		@Bean(defaultCandidate = false)
		Service alias(@Qualifier("inner") Service inner) {
			return inner;
		}

		@Bean(defaultCandidate = false)
		Service made(@Qualifier("inner") Service inner) {
			return proxy(inner);
		}

		@Bean(defaultCandidate = false)
		Service madeOfMade(@Qualifier("made") Service made) {
			return proxy(made);
		}

		@Bean(defaultCandidate = false)
		Service aliasOfMade(@Qualifier("made") Service made) {
			return made;
		}

		private static Service proxy(Service target) {
			ProxyFactory factory = new ProxyFactory(target);
			factory.setProxyTargetClass(true);
			return (Service) factory.getProxy();
		}

	}

}
