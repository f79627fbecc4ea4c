package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisReactiveAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.awaitility.Awaitility.await;

/**
 * Start, stop and shutdown of applications with locks and permits in two Redis servers.
 */
@WithRedis
class SeveralRedisShutDownTests extends TwoRedisTestCase {

	private static final String LONG_SHUT_DOWN = "spring.lifecycle.timeout-per-shutdown-phase=30s";

	SeveralRedisShutDownTests(TestRedis redis) {
		super(redis);
	}

	private static CompletableFuture<Void> closeInBackground(ConfigurableApplicationContext context) {
		return CompletableFuture.runAsync(context::close, (task) -> new Thread(task).start());
	}

	private static void awaitShuttingDown(LockService locks) {
		await("the beginning of the shut-down").atMost(SOON).until(() -> isRefused(locks));
	}

	private static void assertShutDownWaitsFor(LockLease lease, LockService locks,
			ConfigurableApplicationContext context) {
		CompletableFuture<Void> closing = closeInBackground(context);
		awaitShuttingDown(locks);
		assertThat(lease.isHeld()).isTrue();
		assertThat(closing).isNotDone();
		lease.close();
		assertThat(closing).succeedsWithin(SOON);
	}

	private static boolean isRefused(LockService locks) {
		try {
			locks.acquire(LockRequest.of("refused").waitTime(SOON)).close();
			return false;
		}
		catch (LockNotAcquiredException ex) {
			return ex.getReason() == Reason.SHUTDOWN;
		}
	}

	@ParameterizedTest(name = "lazy: {0}")
	@ValueSource(booleans = { false, true })
	@DisplayName("The shutdown waits for work in the other Redis, too: no new grants, and renewal until the release")
	void shutsDownInOrder(boolean lazy) {
		ConfigurableApplicationContext context = start(Orders.class, LONG_SHUT_DOWN,
				"spring.main.lazy-initialization=" + lazy);
		LockService orders = ordersLocks(context);
		LockService locks = locks(context);
		LockLease lease = orders.acquire(LockRequest.of("a").leaseTime(Duration.ofSeconds(2)));
		CompletableFuture<Void> closing = closeInBackground(context);
		awaitShuttingDown(orders);
		awaitShuttingDown(locks);
		await("renewed beyond its lease").during(Duration.ofSeconds(3))
			.atMost(SOON)
			.until(() -> lease.isHeld() && isLocked(this.second, "a"));
		assertThat(closing).isNotDone();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(closing).succeedsWithin(SOON);
		assertThat(isLocked(this.second, "a")).isFalse();
	}

	@Test
	@DisplayName("Leases still held at the end of the phase are released in both Redis, and the context closes all engines")
	void releasesTheRest() {
		ConfigurableApplicationContext context = start(Orders.class);
		LockRequest request = LockRequest.of("a").leaseTime(Duration.ofMinutes(10));
		LockLease one = locks(context).acquire(request);
		LockLease two = ordersLocks(context).acquire(request);
		await("subscriptions").atMost(SOON)
			.until(() -> subscriptions(this.first) == 1 && subscriptions(this.second) == 1);
		context.close();
		assertThat(isLocked(this.first, "a")).isFalse();
		assertThat(isLocked(this.second, "a")).isFalse();
		assertThat(one.isHeld()).isFalse();
		assertThat(two.isHeld()).isFalse();
		await("no subscriptions").atMost(SOON).until(() -> subscriptions(this.first) + subscriptions(this.second) == 0);
	}

	@Test
	@DisplayName("A failed start leaves nothing locked in either Redis")
	void startThatFails() {
		assertThatException().isThrownBy(() -> start(FailingStart.class)).withMessageContaining("no start");
		assertThat(isLocked(this.first, "start")).isFalse();
		assertThat(isLocked(this.second, "start")).isFalse();
	}

	@Test
	@DisplayName("A context that is stopped and started again locks in both Redis")
	void stopsAndStarts() {
		ConfigurableApplicationContext context = start(Orders.class);
		context.stop();
		assertThat(isRefused(locks(context))).isTrue();
		assertThat(isRefused(ordersLocks(context))).isTrue();
		context.start();
		locks(context).acquire("a").close();
		ordersLocks(context).acquire("a").close();
	}

	@Test
	@DisplayName("Without a primary connection factory, an engine can be defined on each, and the engines are shut down in order")
	void noPrimaryConnection() {
		// Some beans of Spring Boot need a primary factory.
		ConfigurableApplicationContext context = start(NoPrimaryConnection.class, LONG_SHUT_DOWN,
				"spring.autoconfigure.exclude=" + DataRedisReactiveAutoConfiguration.class.getName(),
				"spring.data.redis.repositories.enabled=false");
		assertThat(context.getBeanNamesForType(LockService.class)).containsExactly("ordersLocks");
		assertThat(context.getBeanNamesForType(SemaphoreService.class)).containsExactly("ordersSemaphores");
		LockLease lease = ordersLocks(context).acquire("a");
		assertShutDownWaitsFor(lease, ordersLocks(context), context);
	}

	@Test
	@DisplayName("An engine that is a candidate replaces the default engine, and is shut down in order")
	void replacesTheDefault() {
		ConfigurableApplicationContext context = start(OwnEngine.class, LONG_SHUT_DOWN);
		assertThat(context.getBeanNamesForType(LeaseEngine.class)).containsExactlyInAnyOrder("own", "ordersEngine");
		LockService locks = locks(context);
		LockLease lease = locks.acquire("a");
		assertThat(isLocked(this.second, "a")).isTrue();
		assertThat(ordersLocks(context).tryAcquire("a")).isEmpty();
		assertShutDownWaitsFor(lease, locks, context);
	}

	@Test
	@DisplayName("A child context shuts down its own engines, in order, and leaves its parent's engines running")
	void childContext() {
		ConfigurableApplicationContext parent = start(TestApplication.class, LONG_SHUT_DOWN);
		ConfigurableApplicationContext child = new SpringApplicationBuilder(Orders.class).parent(parent)
			.web(WebApplicationType.NONE)
			.properties(properties(LONG_SHUT_DOWN).toArray(String[]::new))
			.run();
		this.contexts.push(child);
		Client client = child.getAutowireCapableBeanFactory().createBean(Client.class);
		assertThat(client.locks).isSameAs(locks(parent));
		assertThat(child.getBeanNamesForType(LeaseEngine.class)).containsExactly("ordersEngine");
		LockLease ofParent = locks(parent).acquire("a");
		LockService orders = ordersLocks(child);
		LockLease ofChild = orders.acquire("a");
		CompletableFuture<Void> closing = closeInBackground(child);
		awaitShuttingDown(orders);
		assertThat(ofChild.isHeld()).isTrue();
		assertThat(closing).isNotDone();
		ofChild.close();
		assertThat(closing).succeedsWithin(SOON);
		assertThat(ofParent.isHeld()).isTrue();
		locks(parent).acquire("b").close();
		assertThat(ofParent.release()).isEqualTo(ReleaseResult.RELEASED);
	}

	static class Client {

		private final LockService locks;

		Client(LockService locks) {
			this.locks = locks;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Orders.class)
	static class FailingStart {

		@Bean
		InitializingBean locking(LockService locks, @Qualifier("ordersLocks") LockService orders) {
			return () -> {
				locks.acquire(LockRequest.of("start").leaseTime(Duration.ofMinutes(10)));
				orders.acquire(LockRequest.of("start").leaseTime(Duration.ofMinutes(10)));
			};
		}

		@Bean
		@DependsOn("locking")
		InitializingBean failing() {
			return () -> {
				throw new IllegalStateException("no start");
			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Orders.class)
	static class NoPrimaryConnection {

		@Bean
		LettuceConnectionFactory one(@Value("${spring.data.redis.port}") int port) {
			return new LettuceConnectionFactory("127.0.0.1", port);
		}

		@Bean
		LettuceConnectionFactory another(@Value("${spring.data.redis.port}") int port) {
			return new LettuceConnectionFactory("127.0.0.1", port);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Orders.class)
	static class OwnEngine {

		@Bean
		LeaseEngine own(LeaseEngineFactory engines, @Qualifier("ordersRedis") RedisConnectionFactory redis) {
			return engines.create(redis);
		}

	}

}
