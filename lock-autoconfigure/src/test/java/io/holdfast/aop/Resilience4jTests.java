package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

import io.github.resilience4j.bulkhead.BulkheadFullException;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.annotation.Bulkhead;
import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.circuitbreaker.annotation.CircuitBreaker;
import io.github.resilience4j.common.bulkhead.configuration.CommonThreadPoolBulkheadConfigurationProperties;
import io.github.resilience4j.common.ratelimiter.configuration.CommonRateLimiterConfigurationProperties;
import io.github.resilience4j.common.retry.configuration.CommonRetryConfigurationProperties;
import io.github.resilience4j.common.timelimiter.configuration.CommonTimeLimiterConfigurationProperties;
import io.github.resilience4j.micrometer.annotation.Timer;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.resilience4j.ratelimiter.RequestNotPermitted;
import io.github.resilience4j.ratelimiter.annotation.RateLimiter;
import io.github.resilience4j.retry.RetryRegistry;
import io.github.resilience4j.retry.annotation.Retry;
import io.github.resilience4j.spring6.bulkhead.configure.BulkheadConfiguration;
import io.github.resilience4j.spring6.bulkhead.configure.BulkheadConfigurationProperties;
import io.github.resilience4j.spring6.bulkhead.configure.threadpool.ThreadPoolBulkheadConfiguration;
import io.github.resilience4j.spring6.circuitbreaker.configure.CircuitBreakerConfiguration;
import io.github.resilience4j.spring6.circuitbreaker.configure.CircuitBreakerConfigurationProperties;
import io.github.resilience4j.spring6.micrometer.configure.TimerConfiguration;
import io.github.resilience4j.spring6.micrometer.configure.TimerConfigurationProperties;
import io.github.resilience4j.spring6.ratelimiter.configure.RateLimiterConfiguration;
import io.github.resilience4j.spring6.ratelimiter.configure.RateLimiterConfigurationProperties;
import io.github.resilience4j.spring6.retry.configure.RetryConfiguration;
import io.github.resilience4j.spring6.retry.configure.RetryConfigurationProperties;
import io.github.resilience4j.spring6.timelimiter.configure.TimeLimiterConfiguration;
import io.github.resilience4j.spring6.timelimiter.configure.TimeLimiterConfigurationProperties;
import io.github.resilience4j.timelimiter.annotation.TimeLimiter;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.EnableAspectJAutoProxy;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Locks and permits beside the annotations of resilience4j. Its aspects have their
 * default order, except where a test sets another.
 */
class Resilience4jTests extends LockedTestCase {

	private static final List<String> TWO_ATTEMPTS = List.of("lock", "body", "unlock", "back-off", "lock", "body",
			"unlock");

	private Shop startShop(Class<?>... others) {
		return startWithOrder(LeaseBeanPostProcessor.DEFAULT_ORDER, others);
	}

	private Shop startWithOrder(int order, Class<?>... others) {
		return recordingBackOff(startWithOrder(order, Shop.class, others));
	}

	private Shop recordingBackOff(Shop shop) {
		bean(RetryRegistry.class).retry("shop").getEventPublisher().onRetry((event) -> this.locks.record("back-off"));
		return shop;
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Each attempt of @Retry takes the lock, with the back-off outside; its fallback follows failures to acquire")
	void retried(Kind kind) {
		Shop shop = startShop().failing(1);
		assertThat(kind.sell(shop)).isEqualTo("sold");
		assertThat(this.locks.events()).isEqualTo(TWO_ATTEMPTS);
		this.locks.forget();
		this.locks.busy();
		assertThat(kind.sell(shop)).isEqualTo("instead of LockNotAcquiredException");
		assertThat(this.locks.requests()).hasSize(3);
	}

	@Test
	@DisplayName("A failure to acquire counts for @CircuitBreaker; calls refused by it, @Bulkhead or @RateLimiter request no lock")
	void limits() {
		Shop shop = startShop();
		var circuitBreaker = bean(CircuitBreakerRegistry.class).circuitBreaker("shop");
		var bulkhead = bean(BulkheadRegistry.class).bulkhead("shop");
		var rateLimiter = bean(RateLimiterRegistry.class).rateLimiter("shop");
		assertLockInside(shop::guarded, circuitBreaker::transitionToOpenState, CallNotPermittedException.class);
		assertThat(circuitBreaker.getMetrics().getNumberOfFailedCalls()).isEqualTo(1);
		assertLockInside(shop::partitioned, () -> {
			while (bulkhead.tryAcquirePermission()) {
				assertThat(bulkhead.getMetrics().getAvailableConcurrentCalls()).isNotNegative();
			}
		}, BulkheadFullException.class);
		assertLockInside(shop::limited, rateLimiter::drainPermissions, RequestNotPermitted.class);
	}

	private void assertLockInside(Supplier<String> call, Runnable close, Class<?> refusal) {
		this.locks.busy();
		assertThat(call.get()).isEqualTo("instead of LockNotAcquiredException");
		this.locks.forget();
		close.run();
		assertThat(call.get()).isEqualTo("instead of " + refusal.getSimpleName());
		assertThat(this.locks.requests()).isEmpty();
	}

	@Test
	@DisplayName("With @Async, an attempt and a time limit do not depend on the executor's thread")
	void asynchronous() {
		Shop shop = startShop(PlainAsync.class).failing(1);
		assertThat(shop.async()).succeedsWithin(SOON).isEqualTo("sold");
		assertThat(this.locks.events()).isEqualTo(TWO_ATTEMPTS);
		assertThat(this.locks.asyncRequests()).hasSize(2);
		this.locks.waiting();
		assertThat(shop.asyncInTime()).succeedsWithin(SOON).isEqualTo("instead of TimeoutException");
	}

	@Test
	@DisplayName("With all of them, permit, lock and transaction belong to one attempt")
	void all() {
		Shop shop = startShop(AdviceOrderTests.Transactions.class).failing(1);
		assertThat(shop.all()).isEqualTo("sold");
		assertEvents("permit", "lock", "begin", "body", "rollback", "unlock", "return", "back-off", "permit", "lock",
				"begin", "body", "commit", "unlock", "return");
	}

	@ParameterizedTest
	@ValueSource(ints = { 0, LeaseBeanPostProcessor.DEFAULT_ORDER, Ordered.LOWEST_PRECEDENCE })
	@DisplayName("The lock is inside of @Retry and outside of the transaction, for any order of @Retry")
	void orderOfRetry(int order) {
		Shop shop = recordingBackOff(
				start(Map.of("retry.order", order), Shop.class, AdviceOrderTests.Transactions.class))
			.failing(1);
		assertThat(shop.all()).isEqualTo("sold");
		assertThat(this.locks.events()).containsSubsequence("lock", "begin", "body", "rollback", "unlock", "back-off",
				"lock", "begin", "body", "commit", "unlock");
	}

	@ParameterizedTest
	@ValueSource(ints = { 0, Ordered.LOWEST_PRECEDENCE - 1 })
	@DisplayName("The lock is inside of @Retry, for any order of the lock")
	void orderOfLock(int order) {
		Shop shop = startWithOrder(order).failing(1);
		assertThat(shop.sell("1")).isEqualTo("sold");
		assertThat(this.locks.events()).isEqualTo(TWO_ATTEMPTS);
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A transaction around all attempts begins before the wait for the lock, and a warning says so")
	void transactionAroundAttempts(CapturedOutput output) {
		Shop shop = startShop(TransactionAroundAttempts.class).failing(1);
		assertThat(shop.all()).isEqualTo("sold");
		assertThat(this.locks.events()).startsWith("begin", "permit", "lock", "body");
		assertThat(output.toString()).containsOnlyOnce("is acquired inside of the method's transaction")
			.contains("is outside of that for retries, limits or circuit breakers, which locks are always inside of. "
					+ "Leave out the order of @EnableTransactionManagement")
			.doesNotContain("or set holdfast.aop.order");
	}

	@Test
	@DisplayName("@Timer, which has the order of transactions, is outside, and its fallback gets the failure to acquire")
	void timer() {
		Shop shop = startShop(AdviceOrderTests.Transactions.class);
		assertThat(shop.timed()).isEqualTo("sold");
		assertEvents("lock", "begin", "body", "commit", "unlock");
		this.locks.busy();
		assertThat(shop.timed()).isEqualTo("instead of LockNotAcquiredException");
	}

	enum Kind {

		PLAIN, STAGE, MONO;

		String sell(Shop shop) {
			return switch (this) {
				case PLAIN -> shop.sell("1");
				case STAGE -> shop.sell(1).toCompletableFuture().orTimeout(SOON.toSeconds(), TimeUnit.SECONDS).join();
				case MONO -> shop.sell(1L).block(SOON);
			};
		}

	}

	@Import(Resilience.class)
	static class Shop extends Recorded {

		private int failures;

		Shop failing(int failures) {
			this.failures = failures;
			return this;
		}

		@Retry(name = "shop", fallbackMethod = "instead")
		@DistributedLock(name = "shop")
		public String sell(String sku) {
			return body();
		}

		@Retry(name = "shop", fallbackMethod = "instead")
		@DistributedLock(name = "shop")
		public CompletionStage<String> sell(Integer id) {
			return stage();
		}

		@Retry(name = "shop", fallbackMethod = "instead")
		@DistributedLock(name = "shop")
		public Mono<String> sell(Long id) {
			return Mono.fromSupplier(this::body);
		}

		String body() {
			this.recorder.record("body");
			if (this.failures-- > 0) {
				throw new IllegalStateException("try again");
			}
			return "sold";
		}

		CompletionStage<String> stage() {
			try {
				return CompletableFuture.completedFuture(body());
			}
			catch (IllegalStateException ex) {
				return CompletableFuture.failedFuture(ex);
			}
		}

		String instead(String sku, Exception ex) {
			return "instead of " + ex.getClass().getSimpleName();
		}

		CompletionStage<String> instead(Integer id, Exception ex) {
			return CompletableFuture.completedFuture(instead("1", ex));
		}

		Mono<String> instead(Long id, Exception ex) {
			return Mono.just(instead("1", ex));
		}

		@CircuitBreaker(name = "shop", fallbackMethod = "refused")
		@DistributedLock(name = "shop")
		public String guarded() {
			return body();
		}

		@Bulkhead(name = "shop", fallbackMethod = "refused")
		@DistributedLock(name = "shop")
		public String partitioned() {
			return body();
		}

		@RateLimiter(name = "shop", fallbackMethod = "refused")
		@DistributedLock(name = "shop")
		public String limited() {
			return body();
		}

		String refused(Exception ex) {
			return instead("1", ex);
		}

		@Transactional
		@Retry(name = "shop")
		@CircuitBreaker(name = "shop")
		@RateLimiter(name = "shop")
		@Bulkhead(name = "shop")
		@Timer(name = "shop")
		@Semaphore(name = "shop", limit = 2)
		@DistributedLock(name = "shop")
		public String all() {
			return body();
		}

		@Transactional
		@Timer(name = "shop", fallbackMethod = "notTimed")
		@DistributedLock(name = "shop")
		public String timed() {
			return body();
		}

		String notTimed(LockNotAcquiredException ex) {
			return instead("1", ex);
		}

		@Async
		@Retry(name = "shop")
		@DistributedLock(name = "shop")
		public CompletableFuture<String> async() {
			return stage().toCompletableFuture();
		}

		@Async
		@TimeLimiter(name = "shop", fallbackMethod = "notInTime")
		@DistributedLock(name = "shop")
		public CompletableFuture<String> asyncInTime() {
			return stage().toCompletableFuture();
		}

		CompletableFuture<String> notInTime(TimeoutException ex) {
			return CompletableFuture.completedFuture(instead("1", ex));
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAspectJAutoProxy(proxyTargetClass = true)
	@Import({ RetryConfiguration.class, CircuitBreakerConfiguration.class, CircuitBreakerConfigurationProperties.class,
			RateLimiterConfiguration.class, TimeLimiterConfiguration.class, BulkheadConfiguration.class,
			BulkheadConfigurationProperties.class, ThreadPoolBulkheadConfiguration.class,
			CommonThreadPoolBulkheadConfigurationProperties.class, TimerConfiguration.class,
			TimerConfigurationProperties.class, SimpleMeterRegistry.class })
	static class Resilience {

		@Bean
		RetryConfigurationProperties retryProperties(@Value("${retry.order:#{null}}") @Nullable Integer order) {
			RetryConfigurationProperties properties = new RetryConfigurationProperties();
			if (order != null) {
				properties.setRetryAspectOrder(order);
			}
			var shop = new CommonRetryConfigurationProperties.InstanceProperties();
			properties.getInstances().put("shop", shop.setWaitDuration(Duration.ofMillis(1)));
			return properties;
		}

		@Bean
		RateLimiterConfigurationProperties rateLimiterProperties() {
			RateLimiterConfigurationProperties properties = new RateLimiterConfigurationProperties();
			var shop = new CommonRateLimiterConfigurationProperties.InstanceProperties();
			properties.getInstances()
				.put("shop", shop.setTimeoutDuration(Duration.ZERO).setLimitRefreshPeriod(Duration.ofHours(1)));
			return properties;
		}

		@Bean
		TimeLimiterConfigurationProperties timeLimiterProperties() {
			TimeLimiterConfigurationProperties properties = new TimeLimiterConfigurationProperties();
			var shop = new CommonTimeLimiterConfigurationProperties.InstanceProperties();
			properties.getInstances().put("shop", shop.setTimeoutDuration(Duration.ofMillis(20)));
			return properties;
		}

	}

	@EnableAsync
	static class PlainAsync {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(order = Ordered.LOWEST_PRECEDENCE - 10)
	static class TransactionAroundAttempts extends AdviceOrderTests.TransactionManagement {

	}

}
