package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostEvent;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import io.holdfast.testing.WithRedis;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * What the attributes of annotations do in two instances of an application that share a
 * Redis.
 */
@WithRedis
class AnnotationAttributesTests {

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final ConfigurableApplicationContext first;

	private final ConfigurableApplicationContext second;

	AnnotationAttributesTests(TestRedis redis) {
		this.first = TestApplication.start(redis, Application.class);
		this.second = TestApplication.start(redis, Application.class);
	}

	@AfterEach
	void stop() {
		this.threads.shutdownNow();
	}

	private static Shop shop(ConfigurableApplicationContext instance) {
		return instance.getBean(Shop.class);
	}

	private LockService locks() {
		return this.second.getBean(LockService.class);
	}

	/** Whether the second instance could lock a key. */
	private boolean isFree(String key) {
		Optional<LockLease> lease = locks().tryAcquire(key);
		lease.ifPresent(LockLease::release);
		return lease.isPresent();
	}

	@Test
	@DisplayName("While one instance runs a method, the others skip it or fall back; afterwards they run it")
	void skipped() {
		assertThat(shop(this.first).job(() -> shop(this.second).job(() -> "inner"))).isNull();
		assertThat(shop(this.first).jobOrElse(() -> shop(this.second).jobOrElse(() -> "inner")))
			.isEqualTo("job: TIMED_OUT");
		Awaitility.await("release")
			.atMost(Duration.ofSeconds(10))
			.until(() -> "ran".equals(shop(this.second).job(() -> "ran")));
	}

	@Test
	@DisplayName("Several keys are locked together, each with its fence, and each keeps others out")
	void severalKeys() {
		shop(this.first).transfer(List.of("b", "a"), () -> {
			assertThat(LockLease.current().keys()).containsExactly("account:a", "account:b");
			assertThat(LockLease.current().fencingToken("account:a")).isPositive();
			assertThat(isFree("account:a")).isFalse();
			assertThat(isFree("account:b")).isFalse();
		});
		Awaitility.await("release").atMost(Duration.ofSeconds(10)).until(() -> isFree("account:b"));
	}

	@Test
	@DisplayName("A lock that was taken in a transaction keeps others out until the commit, but not its own thread")
	void untilCommit() {
		new TransactionTemplate(this.first.getBean(TestTransactions.class)).executeWithoutResult((status) -> {
			assertThat(shop(this.first).job(() -> "first")).isEqualTo("first");
			assertThat(isFree("job")).isFalse();
			assertThat(shop(this.first).job(() -> "again")).isEqualTo("again");
			assertThat(isFree("job")).isFalse();
		});
		Awaitility.await("release").atMost(Duration.ofSeconds(10)).until(() -> isFree("job"));
	}

	@Test
	@DisplayName("A method whose lock is taken away is interrupted, and the application is told")
	void interrupted() {
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop(this.first).interrupted(() -> {
			assertThat(locks().admin().forceRelease("taken")).isTrue();
			TimeUnit.MINUTES.sleep(1);
			return "not reached";
		})).withCauseInstanceOf(InterruptedException.class).withMessageContaining("Lock 'taken' was lost while");
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
		Losses losses = this.first.getBean(Losses.class);
		Awaitility.await().until(() -> losses.last() != null);
		assertThat(losses.last()).satisfies((event) -> {
			assertThat(event.key()).isEqualTo("taken");
			assertThat(event.name()).isEqualTo("taken");
		});
	}

	@Test
	@DisplayName("A thread that carries the context of a method enters by its lock, and no other does")
	void context() {
		shop(this.first).transfer(List.of("a"), () -> {
			LeaseContext context = LeaseContext.current();
			CompletableFuture.runAsync(() -> {
				assertThatExceptionOfType(LockNotAcquiredException.class)
					.isThrownBy(() -> shop(this.first).withdraw("a", () -> "stranger"));
				LeaseContext.Scope scope = context.open();
				assertThat(shop(this.first).withdraw("a", () -> LockLease.current().key())).isEqualTo("account:a");
				scope.close();
			}, this.threads).join();
		});
		Awaitility.await("release").atMost(Duration.ofSeconds(10)).until(() -> isFree("account:a"));
	}

	/** What a method does. */
	interface Body {

		String run() throws Exception;

	}

	static class Shop {

		@DistributedLock(name = "job", waitTime = "0", onTimeout = OnTimeout.SKIP)
		@Nullable String job(Body body) {
			return run(body);
		}

		@DistributedLock(name = "job", waitTime = "0", fallback = "otherwise")
		String jobOrElse(Body body) {
			return run(body);
		}

		private String otherwise(Body body, LockNotAcquiredException ex) {
			return ex.getKey() + ": " + ex.getReason();
		}

		@DistributedLock(name = "account", key = "#accounts", waitTime = "30s")
		void transfer(List<String> accounts, Runnable body) {
			body.run();
		}

		@DistributedLock(name = "account", key = "#account", waitTime = "0")
		String withdraw(String account, Body body) {
			return run(body);
		}

		@DistributedLock(name = "taken", leaseTime = "3s", onLoss = OnLoss.INTERRUPT)
		String interrupted(Body body) throws Exception {
			return body.run();
		}

		private static String run(Body body) {
			try {
				return body.run();
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
		}

	}

	static class Losses {

		private volatile LeaseLostEvent last;

		@EventListener
		void lost(LeaseLostEvent event) {
			this.last = event;
		}

		LeaseLostEvent last() {
			return this.last;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Shop.class, Losses.class, TestTransactions.class })
	static class Application extends TestApplication {

	}

}
