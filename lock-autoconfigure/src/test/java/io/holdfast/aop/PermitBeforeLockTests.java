package io.holdfast.aop;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.RecordingLease.Outcome;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.Ordered;
import org.springframework.resilience.annotation.ConcurrencyLimit;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Methods with a semaphore and a lock: the permit is the first to be acquired and the
 * last to be released, whatever else is around them.
 */
class PermitBeforeLockTests {

	private static final List<String> PLAIN = List.of("permit", "lock", "body", "unlock", "return");

	private static final List<String> IN_TRANSACTION = List.of("permit", "lock", "begin", "body", "commit", "unlock",
			"return");

	static Stream<Arguments> surroundings() {
		return Stream.of(Arguments.argumentSet("nothing else", PLAIN, new Class<?>[] {}),
				Arguments.argumentSet("transactions", IN_TRANSACTION,
						new Class<?>[] { AdviceOrderTests.Transactions.class }),
				Arguments.argumentSet("AspectJ's auto-proxy creator", IN_TRANSACTION,
						new Class<?>[] { AdviceOrderTests.TransactionsAndAspects.class }),
				Arguments.argumentSet("a proxy that takes more advice", PLAIN, new Class<?>[] { Proxying.class }));
	}

	@ParameterizedTest
	@MethodSource("surroundings")
	@DisplayName("The order is the same with proxies of the class")
	void classProxies(List<String> expected, Class<?>[] surroundings) {
		try (LockedContext context = LockedContext.withClassProxies(with(Shop.class, surroundings))) {
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).isEqualTo(expected);
		}
	}

	@ParameterizedTest
	@MethodSource("surroundings")
	@DisplayName("The order is the same with proxies of the interface")
	void interfaceProxies(List<String> expected, Class<?>[] surroundings) {
		try (LockedContext context = LockedContext.of(with(ShopByInterface.class, surroundings))) {
			Selling shop = context.bean(Selling.class);
			// Aspects are asked for on proxies of the class.
			assertThat(AopUtils.isJdkDynamicProxy(shop))
				.isEqualTo(!List.of(surroundings).contains(AdviceOrderTests.TransactionsAndAspects.class));
			shop.sell();
			assertThat(context.locks().events()).isEqualTo(expected);
		}
	}

	private static Class<?>[] with(Class<?> bean, Class<?>[] surroundings) {
		return Stream.concat(Stream.of(bean), Stream.of(surroundings)).toArray(Class<?>[]::new);
	}

	@Test
	@DisplayName("A transaction whose proxy takes no more advice is wrapped once for both")
	void frozenProxy() {
		try (LockedContext context = LockedContext.withClassProxies(AdviceOrderTests.FrozenTransactions.class,
				Shop.class)) {
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).isEqualTo(IN_TRANSACTION);
		}
	}

	@Test
	@DisplayName("Both are released after the roll-back, and the method's exception is thrown")
	void rolledBack() {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Transactions.class, Shop.class)) {
			assertThatIllegalStateException().isThrownBy(() -> context.bean(Shop.class).fail()).withMessage("failed");
			assertThat(context.locks().events()).containsExactly("permit", "lock", "begin", "body", "rollback",
					"unlock", "return");
		}
	}

	@Test
	@DisplayName("Without a permit, the lock is not asked for")
	void noPermit() {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			context.semaphores().busy();
			assertThatExceptionOfType(PermitNotAcquiredException.class)
				.isThrownBy(() -> context.bean(Shop.class).sell());
			assertThat(context.locks().requests()).isEmpty();
			assertThat(context.locks().events()).isEmpty();
		}
	}

	@Test
	@DisplayName("Without the lock, the permit is returned and the method does not run")
	void noLock() {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			context.locks().busy();
			assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> context.bean(Shop.class).sell());
			assertThat(context.locks().events()).containsExactly("permit", "return");
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("The permit is returned although the release of the lock fails")
	void failingReleases(CapturedOutput output) {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			context.locks().releasing(Outcome.FAILED);
			context.semaphores().releasing(Outcome.LOST);
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).isEqualTo(PLAIN);
			assertThat(output).contains("Lock 'shop' of ", "Permit of semaphore 'shop' was lost");
		}
	}

	@Test
	@DisplayName("With @Async, both are taken on the asynchronous thread")
	void insideOfAsync() throws InterruptedException {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Asynchronous.class,
				AdviceOrderTests.Transactions.class, Shop.class)) {
			context.bean(Shop.class).async();
			context.bean(AdviceOrderTests.Asynchronous.class).done.await();
			assertThat(context.locks().events()).containsExactly("async", "permit", "lock", "begin", "body", "commit",
					"unlock", "return", "done");
		}
	}

	@Test
	@DisplayName("With @Retryable, each attempt takes and releases both")
	void insideOfRetry() {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Resilient.class, Shop.class)) {
			context.bean(Shop.class).retried();
			assertThat(context.locks().events()).isEqualTo(Stream.concat(PLAIN.stream(), PLAIN.stream()).toList());
		}
	}

	@Test
	@DisplayName("With @ConcurrencyLimit, only those that are let in take a permit")
	void insideOfConcurrencyLimit() {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Resilient.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			shop.limited();
			Advisor[] advisors = ((Advised) shop).getAdvisors();
			assertThat(advisors).hasSizeGreaterThan(1);
			assertThat(advisors[advisors.length - 1].getAdvice()).isInstanceOf(LeaseInterceptor.class);
			assertThat(context.locks().events()).isEqualTo(PLAIN);
		}
	}

	static Stream<Integer> orders() {
		return Stream.of(Ordered.LOWEST_PRECEDENCE, LeaseBeanPostProcessor.DEFAULT_ORDER, 0);
	}

	@ParameterizedTest
	@MethodSource("orders")
	@DisplayName("Wherever the post-processor is put, the two stay in their order, with nothing between")
	void anyOrder(int order) {
		try (LockedContext context = LockedContext.ordered(order, AdviceOrderTests.TransactionsAndAspects.class,
				Shop.class)) {
			context.bean(Shop.class).sell();
			List<String> events = context.locks().events();
			assertThat(events).containsSubsequence("permit", "lock", "body", "unlock", "return");
			assertThat(events.indexOf("lock")).isEqualTo(events.indexOf("permit") + 1);
			assertThat(events.indexOf("return")).isEqualTo(events.indexOf("unlock") + 1);
		}
	}

	@Test
	@DisplayName("With the post-processor before that of transactions, the lock is kept until the commit")
	void insideOfTransaction() {
		try (LockedContext context = LockedContext.ordered(Ordered.HIGHEST_PRECEDENCE,
				AdviceOrderTests.TransactionsAndAspects.class, Shop.class)) {
			context.bean(Shop.class).sell();
			assertThat(context.locks().events()).containsExactly("begin", "permit", "lock", "body", "return", "commit",
					"unlock");
		}
	}

	@Test
	@DisplayName("A type may have the one and a method the other, and a class the one and an interface the other")
	void declaredInDifferentPlaces() {
		try (LockedContext context = LockedContext.of(Scattered.class)) {
			Selling shop = context.bean(Selling.class);
			shop.sell();
			assertThat(context.locks().events()).isEqualTo(PLAIN);
			assertThat(context.semaphores().keys()).containsExactly("type");
			assertThat(context.locks().keys()).containsExactly("interface");
		}
	}

	@Test
	@DisplayName("A method has what it declares: the other annotations of its class do not reach it")
	void oneOfTheTwo() {
		try (LockedContext context = LockedContext.of(Shop.class)) {
			Shop shop = context.bean(Shop.class);
			shop.onlyLocked();
			shop.onlyLimited();
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock", "permit", "body", "return");
		}
	}

	interface Selling {

		@DistributedLock(name = "interface")
		void sell();

	}

	static class Shop extends Recorded {

		private int attempts;

		@Transactional
		@DistributedLock(name = "shop")
		@Semaphore(name = "shop", limit = 2)
		public void sell() {
			this.recorder.record("body");
		}

		@Semaphore(name = "shop", limit = 2)
		@DistributedLock(name = "shop")
		@Transactional
		public void fail() {
			this.recorder.record("body");
			throw new IllegalStateException("failed");
		}

		@Async
		@Transactional
		@DistributedLock(name = "shop")
		@Semaphore(name = "shop", limit = 2)
		public void async() {
			this.recorder.record("body");
		}

		@Retryable(delay = 1)
		@DistributedLock(name = "shop")
		@Semaphore(name = "shop", limit = 2)
		public void retried() {
			this.recorder.record("body");
			if (this.attempts++ == 0) {
				throw new IllegalStateException("try again");
			}
		}

		@ConcurrencyLimit(1)
		@DistributedLock(name = "shop")
		@Semaphore(name = "shop", limit = 2)
		public void limited() {
			this.recorder.record("body");
		}

		@DistributedLock(name = "shop")
		public void onlyLocked() {
			this.recorder.record("body");
		}

		@Semaphore(name = "shop", limit = 2)
		public void onlyLimited() {
			this.recorder.record("body");
		}

	}

	static class ShopByInterface extends Recorded implements Selling {

		@Override
		@Transactional
		@Semaphore(name = "shop", limit = 2)
		public void sell() {
			this.recorder.record("body");
		}

	}

	@Semaphore(name = "type", limit = 2)
	static class Scattered extends Recorded implements Selling {

		@Override
		public void sell() {
			this.recorder.record("body");
		}

	}

	/** Wraps shops into proxies that take more advice, before anything else does. */
	static class Proxying implements BeanPostProcessor, Ordered {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (!(bean instanceof Shop) && !(bean instanceof ShopByInterface)) {
				return bean;
			}
			ProxyFactory factory = new ProxyFactory(bean);
			factory.setProxyTargetClass(bean instanceof Shop);
			return factory.getProxy();
		}

		@Override
		public int getOrder() {
			return Ordered.HIGHEST_PRECEDENCE;
		}

	}

}
