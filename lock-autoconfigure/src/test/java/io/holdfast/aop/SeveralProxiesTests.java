package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

import io.holdfast.SemaphoreService;
import io.holdfast.annotation.Semaphore;
import io.holdfast.autoconfigure.HoldfastAopAutoConfiguration;
import io.holdfast.autoconfigure.HoldfastAutoConfiguration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Calls of beans with a class proxy inside of further proxies.
 */
class SeveralProxiesTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class))
		.withPropertyValues("holdfast.backend=memory")
		.withUserConfiguration(Application.class);

	@ParameterizedTest
	@ValueSource(strings = { "inner", "alias", "made", "madeOfMade", "aliasOfMade" })
	@DisplayName("A call takes its permit once, outside of the transaction, for any number of proxies")
	void once(String bean) {
		this.runner.run((context) -> {
			Service service = context.getBean(bean, Service.class);
			Transactions transactions = context.getBean(Transactions.class);
			for (int i = 0; i < 2; i++) {
				transactions.events.clear();
				service.plain();
				assertThat(transactions.events).containsExactly("begin, 1 used", "runs", "commit, 1 used");
				assertThat(service.later().get(10, TimeUnit.SECONDS)).isEqualTo(1);
				assertThat(service.mono().block(Duration.ofSeconds(10))).isEqualTo(1);
			}
			assertThat(context.getBean(SemaphoreService.class).status("s").used()).isZero();
		});
	}

	static class Service {

		private final Transactions transactions;

		private final SemaphoreService semaphores;

		Service() {
			throw new AssertionError("Proxies are made without it");
		}

		Service(Transactions transactions, SemaphoreService semaphores) {
			this.transactions = transactions;
			this.semaphores = semaphores;
		}

		@Semaphore(name = "s", limit = 1, waitTime = "0s")
		@Transactional
		public void plain() {
			this.transactions.events.add("runs");
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

	static class Transactions extends AbstractPlatformTransactionManager {

		private static final long serialVersionUID = 1L;

		private final transient SemaphoreService semaphores;

		final transient List<String> events = new CopyOnWriteArrayList<>();

		Transactions(SemaphoreService semaphores) {
			this.semaphores = semaphores;
		}

		private void add(String event) {
			this.events.add(event + ", " + this.semaphores.status("s").used() + " used");
		}

		@Override
		protected Object doGetTransaction() {
			return new Object();
		}

		@Override
		protected boolean isExistingTransaction(Object transaction) {
			return this.events.stream().anyMatch((event) -> event.startsWith("begin"));
		}

		@Override
		protected void doBegin(Object transaction, TransactionDefinition definition) {
			add("begin");
		}

		@Override
		protected void doCommit(DefaultTransactionStatus status) {
			add("commit");
		}

		@Override
		protected void doRollback(DefaultTransactionStatus status) {
			add("rollback");
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(proxyTargetClass = true)
	static class Application {

		@Bean
		Transactions transactions(SemaphoreService semaphores) {
			return new Transactions(semaphores);
		}

		@Bean
		Service inner(Transactions transactions, SemaphoreService semaphores) {
			return new Service(transactions, semaphores);
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
