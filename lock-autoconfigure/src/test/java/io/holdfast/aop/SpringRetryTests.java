package io.holdfast.aop;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

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
class SpringRetryTests extends LockedTestCase {

	@ParameterizedTest
	@ValueSource(classes = { Retries.class, EarlyRetries.class, LateRetries.class })
	@DisplayName("Each attempt takes permit and lock inside of the back-off, for any order of @EnableRetry")
	void retried(Class<?> retries) {
		Shop shop = start(Shop.class, AdviceOrderTests.Transactions.class, retries).failing(1);
		assertThat(shop.sell()).isEqualTo("sold");
		assertEvents("permit", "lock", "begin", "body", "rollback", "unlock", "return", "back-off", "permit", "lock",
				"begin", "body", "commit", "unlock", "return");
	}

	@Test
	@DisplayName("A retry interceptor of the application, which has no order, is outside of permit, lock and transaction")
	void interceptor() {
		Shop shop = start(Shop.class, AdviceOrderTests.TransactionsAndAspects.class, Interceptor.class).failing(1);
		assertThat(shop.intercepted()).isEqualTo("sold");
		assertEvents("lock", "begin", "body", "rollback", "unlock", "lock", "begin", "body", "commit", "unlock");
	}

	static class Shop extends Recorded {

		private int failures;

		Shop failing(int failures) {
			this.failures = failures;
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
			if (this.failures-- > 0) {
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
