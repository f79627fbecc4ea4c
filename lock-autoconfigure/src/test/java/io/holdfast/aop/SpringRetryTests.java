package io.holdfast.aop;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.retry.annotation.EnableRetry;
import org.springframework.retry.annotation.Retryable;
import org.springframework.retry.backoff.Sleeper;
import org.springframework.retry.interceptor.RetryInterceptorBuilder;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Locks and permits beside Spring Retry, for methods that return their result directly.
 */
class SpringRetryTests {

	private static final List<String> TWO_ATTEMPTS = List.of("permit", "lock", "begin", "body", "rollback", "unlock",
			"return", "back-off", "permit", "lock", "begin", "body", "commit", "unlock", "return");

	private static LockedContext context(Class<?> retries) {
		return LockedContext.withClassProxies(AdviceOrderTests.Transactions.class, retries, Shop.class);
	}

	@ParameterizedTest
	@ValueSource(classes = { Retries.class, EarlyRetries.class, LateRetries.class })
	@DisplayName("Each attempt takes permit and lock inside of the back-off, for any order of @EnableRetry")
	void retried(Class<?> retries) {
		try (LockedContext context = context(retries)) {
			Shop shop = context.bean(Shop.class).failing(1);
			assertThat(shop.sell()).isEqualTo("sold");
			assertThat(context.locks().events()).isEqualTo(TWO_ATTEMPTS);
		}
	}

	@Test
	@DisplayName("A retry interceptor of the application, which has no order, is outside of permit, lock and transaction")
	void interceptor() {
		try (LockedContext context = LockedContext.withClassProxies(AdviceOrderTests.TransactionsAndAspects.class,
				Interceptor.class, Shop.class)) {
			Shop shop = context.bean(Shop.class).failing(1);
			assertThat(shop.intercepted()).isEqualTo("sold");
			assertThat(context.locks().events()).containsExactly("lock", "begin", "body", "rollback", "unlock", "lock",
					"begin", "body", "commit", "unlock");
		}
	}

	static class Shop extends Recorded {

		private final AtomicInteger failures = new AtomicInteger();

		Shop failing(int failures) {
			this.failures.set(failures);
			return this;
		}

		@Retryable
		@Transactional
		@Semaphore(name = "shop", limit = 2)
		@DistributedLock(name = "shop")
		public String sell() {
			return body();
		}

		@Intercepted
		@Transactional
		@DistributedLock(name = "shop")
		public String intercepted() {
			return body();
		}

		private String body() {
			this.recorder.record("body");
			if (this.failures.getAndDecrement() > 0) {
				throw new IllegalStateException("try again");
			}
			return "sold";
		}

	}

	@Retention(RetentionPolicy.RUNTIME)
	@interface Intercepted {

	}

	static class Sleeping {

		@Bean
		Sleeper sleeper(RecordingLocks recorder) {
			return (backOff) -> recorder.record("back-off");
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableRetry
	static class Retries extends Sleeping {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableRetry(order = 0)
	static class EarlyRetries extends Sleeping {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableRetry(order = Ordered.LOWEST_PRECEDENCE)
	static class LateRetries extends Sleeping {

	}

	@Configuration(proxyBeanMethods = false)
	static class Interceptor {

		@Bean
		static DefaultPointcutAdvisor retryAdvisor() {
			return new DefaultPointcutAdvisor(AnnotationMatchingPointcut.forMethodAnnotation(Intercepted.class),
					RetryInterceptorBuilder.stateless().maxAttempts(2).build());
		}

	}

}
