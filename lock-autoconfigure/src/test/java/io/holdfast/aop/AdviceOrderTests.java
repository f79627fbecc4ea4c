package io.holdfast.aop;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.ReactiveTestTransactions;
import io.holdfast.testing.TestTransactions;
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
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Position of the lock among the other advice of a bean.
 */
class AdviceOrderTests {

	@ParameterizedTest
	@ValueSource(classes = { Transactions.class, TransactionsAndAspects.class })
	@DisplayName("The lock is acquired before the transaction begins and released after its commit")
	void outsideOfTransaction(Class<?> transactions) {
		try (LockedContext context = LockedContext.of(transactions, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			shop.sell();
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "commit", "unlock");
			assertThat(((Advised) shop).getAdvisors()[0].getAdvice()).isInstanceOf(LeaseInterceptor.class);
		}
	}

	@Test
	@DisplayName("The lock is released after the roll-back")
	void outsideOfRolledBackTransaction() {
		try (LockedContext context = LockedContext.of(Transactions.class, Shop.class)) {
			assertThatIllegalStateException().isThrownBy(() -> context.bean(Shop.class).fail()).withMessage("failed");
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "rollback", "unlock");
		}
	}

	@Test
	@DisplayName("The lock is outside of a transaction also when the bean is proxied for its interface")
	void outsideOfTransactionByInterface() {
		try (LockedContext context = LockedContext.of(Transactions.class, ShopByInterface.class)) {
			context.bean(Runnable.class).run();
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "commit", "unlock");
		}
	}

	@Test
	@DisplayName("A transaction whose proxy takes no more advice is wrapped")
	void outsideOfFrozenProxy() {
		try (LockedContext context = LockedContext.withClassProxies(FrozenTransactions.class, Shop.class)) {
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "commit", "unlock");
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A transaction with a lower order begins before the wait for the lock, and a warning says so once")
	void insideOfEarlyTransaction(CapturedOutput output) {
		try (LockedContext context = LockedContext.withClassProxies(EarlyTransactions.class, Shop.class)) {
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).startsWith("begin", "lock", "body");
			assertThat(output.toString()).containsOnlyOnce("is acquired inside of the method's transaction")
				.contains("has a lower order than that for @DistributedLock and @Semaphore (")
				.contains(
						"Leave out the order of @EnableTransactionManagement, or set holdfast.aop.order to a lower one");
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void usualTransactionIsNotWarnedOf(CapturedOutput output) {
		LockedContext.of(TransactionsAndAspects.class, Shop.class).close();
		assertThat(output).doesNotContain("method's transaction");
	}

	@Test
	@DisplayName("With @Async, the asynchronous thread takes the lock, also around a transaction")
	void insideOfAsync() throws InterruptedException {
		try (LockedContext context = LockedContext.of(Asynchronous.class, Transactions.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			assertThat(((Advised) shop).getAdvisors()[1].getAdvice()).isInstanceOf(LeaseInterceptor.class);
			shop.async();
			context.bean(Asynchronous.class).done.await();
			assertThat(context.locks().events()).containsExactly("async", "lock", "begin", "body", "commit", "unlock",
					"done");
		}
	}

	@Test
	@DisplayName("With @Retryable, each attempt takes and releases the lock")
	void insideOfRetry() {
		try (LockedContext context = LockedContext.of(Resilient.class, Transactions.class, Shop.class)) {
			context.bean(Shop.class).retried();
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "rollback", "unlock", "lock",
					"begin", "body", "commit", "unlock");
		}
	}

	@Test
	@DisplayName("The lock is around the cache, so that only the first of many callers runs the method")
	void outsideOfCache() {
		try (LockedContext context = LockedContext.of(Caching.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			assertThat(shop.cached("a")).isEqualTo("result for a");
			assertThat(shop.cached("a")).isEqualTo("result for a");
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock", "lock", "unlock");
		}
	}

	@Test
	@DisplayName("Inside of @Async and of a transaction, the lock of a future is kept until both have ended")
	void insideOfAsyncAndTransaction() {
		try (LockedContext context = LockedContext.withClassProxies(Asynchronous.class, EarlyTransactions.class,
				Shop.class)) {
			CompletableFuture<String> work = new CompletableFuture<>();
			CompletableFuture<String> result = context.bean(Shop.class).later(work);
			Awaitility.await().until(() -> context.locks().events().contains("commit"));
			context.locks().record("work");
			work.complete("sold");
			assertThat(result).succeedsWithin(Duration.ofSeconds(10)).isEqualTo("sold");
			assertThat(context.locks().events()).startsWith("async", "begin", "lock", "body", "commit", "work",
					"unlock");
		}
	}

	@Test
	@DisplayName("A reactive transaction is inside of the lock, which is released after its commit")
	void outsideOfReactiveTransaction() {
		try (LockedContext context = LockedContext.withClassProxies(ReactiveConfiguration.class, Shop.class)) {
			Mono<String> result = context.bean(Shop.class).reactive();
			assertThat(context.locks().events()).isEmpty();
			assertThat(result.block(Duration.ofSeconds(10))).isEqualTo("sold");
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "commit", "unlock");
		}
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
	@DisplayName("With any order of the lock and of @EnableResilientMethods, each attempt takes the lock")
	void insideOfRetryOfAnyOrder(int order, Class<?> resilient) {
		try (LockedContext context = LockedContext.ordered(order, resilient, TransactionsAndAspects.class,
				Shop.class)) {
			context.bean(Shop.class).retried();
			assertThat(context.locks().events()).containsSubsequence("lock", "body", "unlock", "lock", "body",
					"unlock");
		}
	}

	@ParameterizedTest
	@MethodSource("orders")
	@DisplayName("With any order of the lock and of @EnableResilientMethods, a call beyond the limit takes no lock")
	void insideOfConcurrencyLimitOfAnyOrder(int order, Class<?> resilient) {
		try (LockedContext context = LockedContext.ordered(order, resilient, TransactionsAndAspects.class,
				Shop.class)) {
			Shop shop = context.bean(Shop.class);
			shop.rejecting(() -> assertThatExceptionOfType(InvocationRejectedException.class)
				.isThrownBy(() -> shop.rejecting(() -> {
				})));
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock");
		}
	}

	@Test
	@DisplayName("A post-processor that registers listeners late finds the proxy, also with a high order of the lock")
	void registeredWithProxy() {
		try (LockedContext context = LockedContext.ordered(Ordered.LOWEST_PRECEDENCE - 1, Listeners.class,
				Shop.class)) {
			assertThat(context.bean(Listeners.class).found).isSameAs(context.bean(Shop.class));
		}
	}

	@Test
	@DisplayName("Two proxies that both lock give nested leases, released in reverse order")
	void doublyProxied() {
		try (LockedContext context = LockedContext.of(SecondProcessor.class, Shop.class)) {
			context.bean(Shop.class).plain();
			assertThat(context.locks().events()).containsExactly("lock", "lock", "body", "unlock", "unlock");
			assertThat(context.locks().keys()).containsExactly("shop", "shop");
		}
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

		@Transactional
		@DistributedLock(name = "shop")
		public void fail() {
			this.recorder.record("body");
			throw new IllegalStateException("failed");
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
