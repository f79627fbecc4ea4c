package io.holdfast.aop;

import java.util.concurrent.Executor;
import java.util.function.Supplier;

import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnTimeout;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.resilience.annotation.ConcurrencyLimit;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Locked methods that are also cached, retried, limited or asynchronous, and do not get
 * their lock, or lose it.
 */
class CachedAndRetriedTests {

	@Test
	@DisplayName("A cache is asked under the lock, so that only the first of many callers runs the method")
	void cached() {
		try (LockedContext context = LockedContext.of(Caching.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			assertThat(shop.cached("a")).isEqualTo("result for a");
			assertThat(shop.cached("a")).isEqualTo("result for a");
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock", "lock", "unlock");
		}
	}

	@Test
	@DisplayName("What a call gets that was skipped or fell back is not cached")
	void notCached() {
		try (LockedContext context = LockedContext.of(Caching.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			context.locks().busy();
			assertThat(shop.cached("a")).isEqualTo("instead of a");
			assertThat(shop.cachedOrSkipped("a")).isNull();
			context.locks().free();
			assertThat(shop.cached("a")).isEqualTo("result for a");
			assertThat(shop.cachedOrSkipped("a")).isEqualTo("result for a");
		}
	}

	@Test
	@DisplayName("A call whose lock is lost is tried again with a new lock, after a roll-back if that began inside")
	void retriedAfterLoss() {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Resilient.class,
				AdviceOrderTests.Transactions.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			shop.does(losingOnce(context.locks()));
			assertThat(shop.retried()).isEqualTo("second");
			assertThat(context.locks().events()).containsExactly("lock", "begin", "rollback", "unlock", "lock", "begin",
					"commit", "unlock");
		}
	}

	private static Supplier<String> losingOnce(RecordingLocks locks) {
		return () -> {
			if (locks.requests().size() > 1) {
				return "second";
			}
			locks.lease("retried").lose();
			LockLease.current().ensureHeld();
			return "first";
		};
	}

	@Test
	@DisplayName("A call that is skipped is not tried again, one that gets an exception is")
	void retriedWithoutLock() {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Resilient.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			context.locks().busy();
			assertThat(shop.retriedOrSkipped()).isNull();
			assertThat(context.locks().requests()).hasSize(1);
			context.locks().forget();
			assertThat(catchThrowable(shop::retried)).isNotNull();
			assertThat(context.locks().requests()).hasSize(3);
		}
	}

	@Test
	@DisplayName("With @Async, the method finds its lease on the asynchronous thread, and the fallback runs there")
	void asynchronous() {
		try (LockedContext context = LockedContext.of(Asynchronous.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			Thread caller = Thread.currentThread();
			shop.does(() -> LockLease.current().key() + " on another thread: " + (Thread.currentThread() != caller));
			shop.async();
			Awaitility.await()
				.untilAsserted(() -> assertThat(context.locks().events()).containsExactly("lock",
						"async on another thread: true", "unlock"));
			assertThat(LeaseContext.current()).isSameAs(LeaseContext.empty());
			context.locks().busy();
			shop.async();
			Awaitility.await()
				.untilAsserted(() -> assertThat(context.locks().events()).endsWith("unlock", "instead of async"));
		}
	}

	@Test
	@DisplayName("With @ConcurrencyLimit, a call that is skipped or falls back leaves its place")
	void concurrencyLimit() {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Resilient.class, Shop.class)) {
			Shop shop = context.bean(Shop.class);
			context.locks().busy();
			assertThat(shop.limited()).isEqualTo("instead");
			assertThat(shop.limited()).isEqualTo("instead");
			context.locks().free();
			assertThat(shop.limited()).isEqualTo("ran");
		}
	}

	static class Shop extends Recorded {

		private Supplier<String> body = () -> "ran";

		void does(Supplier<String> body) {
			this.body = body;
		}

		@Cacheable("results")
		@DistributedLock(name = "cached", key = "#id", fallback = "instead")
		public String cached(String id) {
			this.recorder.record("body");
			return "result for " + id;
		}

		private String instead(String id) {
			return "instead of " + id;
		}

		@Cacheable("others")
		@DistributedLock(name = "cached", key = "#id", onTimeout = OnTimeout.SKIP)
		public @Nullable String cachedOrSkipped(String id) {
			return "result for " + id;
		}

		@Retryable(maxRetries = 2, delay = 1)
		@Transactional
		@DistributedLock(name = "retried", onLoss = OnLoss.THROW)
		public String retried() {
			return this.body.get();
		}

		@Retryable(maxRetries = 2, delay = 1)
		@DistributedLock(onTimeout = OnTimeout.SKIP)
		public @Nullable String retriedOrSkipped() {
			return this.body.get();
		}

		@Async
		@DistributedLock(name = "async", fallback = "noAsync")
		public void async() {
			this.recorder.record(this.body.get());
		}

		private void noAsync() {
			this.recorder.record("instead of async");
		}

		@ConcurrencyLimit(1)
		@DistributedLock(fallback = "notLimited")
		public String limited() {
			return this.body.get();
		}

		private String notLimited() {
			return "instead";
		}

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
	@EnableAsync
	static class Asynchronous {

		@Bean
		Executor taskExecutor() {
			return (task) -> new Thread(task).start();
		}

	}

}
