package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.ReactiveTestTransactions;
import io.holdfast.testing.TestTransactions;
import org.assertj.core.api.Assertions;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.autoproxy.AbstractAutoProxyCreator;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.EnableAspectJAutoProxy;
import org.springframework.core.Ordered;
import org.springframework.resilience.InvocationRejectedException;
import org.springframework.resilience.annotation.ConcurrencyLimit;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Position of the lock among the other advice of a bean.
 */
class AdviceOrderTests extends LockedTestCase {

	@ParameterizedTest
	@ValueSource(classes = { Transactions.class, TransactionsAndAspects.class, FrozenTransactions.class })
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("The lock is acquired before the transaction begins and released after its commit, without a warning")
	void outsideOfTransaction(Class<?> transactions, CapturedOutput output) {
		Shop shop = start(Shop.class, transactions);
		shop.sell();
		assertEvents("lock", "begin", "body", "commit", "unlock");
		assertThat(((Advised) shop).getAdvisors()[0].getAdvice()).isInstanceOf(LeaseInterceptor.class);
		assertThat(output).doesNotContain("method's transaction");
	}

	@Test
	@DisplayName("The lock is outside of a transaction also when the bean is proxied for its interface")
	void outsideOfTransactionByInterface() {
		startByInterface(Transactions.class, ShopByInterface.class);
		bean(Runnable.class).run();
		assertEvents("lock", "begin", "body", "commit", "unlock");
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A transaction with a lower order begins before the wait for the lock, and a warning says so once")
	void insideOfEarlyTransaction(CapturedOutput output) {
		start(Shop.class, EarlyTransactions.class).sell();
		assertThat(this.locks.events()).startsWith("begin", "lock", "body");
		assertThat(output.toString()).containsOnlyOnce("is acquired inside of the method's transaction")
			.contains("has a lower order than that for @DistributedLock and @Semaphore (2147483627)")
			.contains("Leave out the order of @EnableTransactionManagement, or set holdfast.aop.order to a lower one");
	}

	@Test
	@DisplayName("With @Async, the asynchronous thread takes the lock, also around a transaction")
	void insideOfAsync() throws InterruptedException {
		Shop shop = start(Shop.class, Asynchronous.class, Transactions.class);
		assertThat(((Advised) shop).getAdvisors()[1].getAdvice()).isInstanceOf(LeaseInterceptor.class);
		shop.async();
		bean(Asynchronous.class).done.await();
		assertEvents("async", "lock", "begin", "body", "commit", "unlock", "done");
	}

	@Test
	@DisplayName("With @Retryable, each attempt takes the lock, and releases it after the roll-back or commit")
	void insideOfRetry() {
		start(Shop.class, Resilient.class, Transactions.class).retried();
		assertEvents("lock", "begin", "body", "rollback", "unlock", "lock", "begin", "body", "commit", "unlock");
	}

	@Test
	@DisplayName("The lock is around the cache, so that only the first of many callers runs the method")
	void outsideOfCache() {
		Shop shop = start(Shop.class, Caching.class);
		assertThat(shop.cached("a")).isEqualTo("result for a");
		assertThat(shop.cached("a")).isEqualTo("result for a");
		assertEvents("lock", "body", "unlock", "lock", "unlock");
	}

	@Test
	@DisplayName("Inside of @Async and of a transaction, the lock of a future is kept until both have ended")
	void insideOfAsyncAndTransaction() {
		Shop shop = start(Shop.class, Asynchronous.class, EarlyTransactions.class);
		CompletableFuture<String> work = new CompletableFuture<>();
		CompletableFuture<String> result = shop.later(work);
		Awaitility.await().until(() -> this.locks.events().contains("commit"));
		this.locks.record("work");
		work.complete("sold");
		assertThat(result).succeedsWithin(SOON).isEqualTo("sold");
		assertThat(this.locks.events()).startsWith("async", "begin", "lock", "body", "commit", "work", "unlock");
	}

	@Test
	@DisplayName("A reactive transaction is inside of the lock, which is released after its commit")
	void outsideOfReactiveTransaction() {
		Mono<String> result = start(Shop.class, ReactiveConfiguration.class).reactive();
		assertThat(this.locks.events()).isEmpty();
		assertThat(result.block(SOON)).isEqualTo("sold");
		assertEvents("lock", "begin", "body", "commit", "unlock");
	}

	static Stream<Arguments> orders() {
		return Stream
			.of(Ordered.HIGHEST_PRECEDENCE + 1, 0, LeaseBeanPostProcessor.DEFAULT_ORDER, Ordered.LOWEST_PRECEDENCE - 1,
					Ordered.LOWEST_PRECEDENCE)
			.flatMap((order) -> Stream.of(Resilient.class, EarlyResilient.class)
				.map((resilient) -> Arguments.of(order, resilient)));
	}

	@ParameterizedTest
	@MethodSource("orders")
	@DisplayName("With any order of the lock and of @EnableResilientMethods, attempts take the lock, and a call beyond the limit does not")
	void insideOfResilienceOfAnyOrder(int order, Class<?> resilient) {
		Shop shop = startWithOrder(order, Shop.class, resilient, TransactionsAndAspects.class);
		shop.retried();
		assertThat(this.locks.events()).containsSubsequence("lock", "body", "unlock", "lock", "body", "unlock");
		this.locks.forget();
		shop.rejecting(() -> assertThatExceptionOfType(InvocationRejectedException.class)
			.isThrownBy(() -> shop.rejecting(Assertions::fail)));
		assertEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("A post-processor that registers listeners late finds the proxy, also with a high order of the lock")
	void registeredWithProxy() {
		Listeners listeners = startWithOrder(Ordered.LOWEST_PRECEDENCE - 1, Listeners.class, Shop.class);
		assertThat(listeners.found).isSameAs(bean(Shop.class));
	}

	@Test
	@DisplayName("Two proxies that both lock give nested leases, released in reverse order")
	void doublyProxied() {
		startByInterface(SecondProcessor.class, Shop.class);
		bean(Shop.class).plain();
		assertEvents("lock", "lock", "body", "unlock", "unlock");
		assertThat(this.locks.keys()).containsExactly("shop", "shop");
	}

	static class Shop extends Recorded {

		private int attempts;

		@DistributedLock(name = "shop")
		void plain() {
			this.recorder.record("body");
		}

		@Transactional
		@DistributedLock(name = "shop")
		public void sell() {
			this.recorder.record("body");
		}

		@Async
		@Transactional
		@DistributedLock(name = "shop")
		public void async() {
			this.recorder.record("body");
		}

		@Cacheable("results")
		@DistributedLock(name = "shop")
		public String cached(String id) {
			this.recorder.record("body");
			return "result for " + id;
		}

		@Async
		@Transactional
		@DistributedLock(name = "shop")
		public CompletableFuture<String> later(CompletableFuture<String> work) {
			this.recorder.record("body");
			return work;
		}

		@Transactional
		@DistributedLock(name = "shop")
		public Mono<String> reactive() {
			return Mono.fromSupplier(() -> {
				this.recorder.record("body");
				return "sold";
			});
		}

		@Retryable(delay = 1)
		@Transactional
		@DistributedLock(name = "shop")
		public void retried() {
			this.recorder.record("body");
			if (this.attempts++ == 0) {
				throw new IllegalStateException("try again");
			}
		}

		@ConcurrencyLimit(limit = 1, policy = ConcurrencyLimit.ThrottlePolicy.REJECT)
		@DistributedLock(name = "shop")
		public void rejecting(Runnable body) {
			this.recorder.record("body");
			body.run();
		}

	}

	static class ShopByInterface extends Recorded implements Runnable {

		@Override
		@Transactional
		@DistributedLock(name = "shop")
		public void run() {
			this.recorder.record("body");
		}

	}

	static class TransactionManagement {

		@Bean
		TestTransactions transactionManager(RecordingLocks recorder) {
			return new TestTransactions(recorder::record);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	static class Transactions extends TransactionManagement {

	}

	@EnableAspectJAutoProxy(proxyTargetClass = true)
	static class TransactionsAndAspects extends Transactions {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(order = 0)
	static class EarlyTransactions extends TransactionManagement {

	}

	static class FrozenTransactions extends Transactions {

		FrozenTransactions(AbstractAutoProxyCreator creator) {
			creator.setFrozen(true);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class Asynchronous {

		final CountDownLatch done = new CountDownLatch(1);

		@Bean
		Executor taskExecutor(RecordingLocks recorder) {
			return (task) -> new Thread(() -> {
				recorder.record("async");
				task.run();
				recorder.record("done");
				this.done.countDown();
			}).start();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	static class Scheduling {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableResilientMethods
	static class Resilient {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableResilientMethods(order = 100)
	static class EarlyResilient {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableCaching
	static class Caching {

		@Bean
		CacheManager cacheManager() {
			return new ConcurrentMapCacheManager();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	static class ReactiveConfiguration {

		@Bean
		ReactiveTestTransactions transactionManager(RecordingLocks recorder) {
			return new ReactiveTestTransactions(recorder::record);
		}

	}

	/**
	 * Finds a shop in the same way as post-processors of listener containers find
	 * listeners.
	 */
	static class Listeners implements BeanPostProcessor, Ordered {

		private @Nullable Object found;

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			this.found = (bean instanceof Shop) ? bean : this.found;
			return bean;
		}

		@Override
		public int getOrder() {
			return Ordered.LOWEST_PRECEDENCE - 2;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SecondProcessor {

		@Bean
		static LeaseBeanPostProcessor secondProcessor(ObjectProvider<LockService> locks) {
			return new LeaseBeanPostProcessor(locks::getObject, () -> null);
		}

	}

}
