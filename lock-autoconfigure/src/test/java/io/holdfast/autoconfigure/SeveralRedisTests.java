package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisReactiveAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.awaitility.Awaitility.await;

/**
 * Applications that have locks and permits in two Redis servers.
 */
@WithRedis
class SeveralRedisTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private static final String LONG_SHUT_DOWN = "spring.lifecycle.timeout-per-shutdown-phase=30s";

	private static final RedisScript<Long> CHANNELS = RedisScript
		.of("return #redis.call('PUBSUB', 'CHANNELS', ARGV[1])", Long.class);

	private final TestRedis redis;

	private final StringRedisTemplate first;

	private final RedisServer secondServer;

	private final StringRedisTemplate second;

	private final Deque<ConfigurableApplicationContext> contexts = new ArrayDeque<>();

	SeveralRedisTests(TestRedis redis) {
		this.redis = redis;
		this.first = redis.template();
		this.secondServer = redis.startServer();
		this.second = new StringRedisTemplate(
				redis.connectionFactory(this.secondServer.host(), this.secondServer.port()));
	}

	@AfterEach
	void close() {
		this.contexts.forEach(ConfigurableApplicationContext::close);
	}

	private ConfigurableApplicationContext start(Class<?> application, String... properties) {
		ConfigurableApplicationContext context = TestApplication.start(application, this.redis.host(),
				this.redis.port(), this.redis.keyPrefix(), properties(properties).toList());
		this.contexts.push(context);
		return context;
	}

	private Stream<String> properties(String... properties) {
		Stream<String> common = Stream.of("orders.redis.host=" + this.secondServer.host(),
				"orders.redis.port=" + this.secondServer.port(), "holdfast.redis.command-timeout=5s");
		return Stream.concat(common, Stream.of(properties));
	}

	private static LockService locks(ConfigurableApplicationContext context) {
		return context.getBean(LockService.class);
	}

	private static LockService ordersLocks(ConfigurableApplicationContext context) {
		return context.getBean("ordersLocks", LockService.class);
	}

	private boolean isLocked(StringRedisTemplate where, String key) {
		return Boolean.TRUE.equals(where.hasKey(this.redis.keyPrefix() + key));
	}

	private int subscriptions(StringRedisTemplate where) {
		Long count = where.execute(CHANNELS, List.of(), TestApplication.channelPrefix(this.redis.keyPrefix()) + "*");
		return (count != null) ? count.intValue() : 0;
	}

	private static CompletableFuture<Void> closeInBackground(ConfigurableApplicationContext context) {
		return CompletableFuture.runAsync(context::close, (task) -> new Thread(task).start());
	}

	private static void awaitShuttingDown(LockService locks) {
		await("the beginning of the shut-down").atMost(SOON).until(() -> isRefused(locks));
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

	@Test
	@DisplayName("The default services are there as ever, and the others beside them: a key can be locked in both Redis at once")
	void besideTheDefault() {
		ConfigurableApplicationContext context = start(Orders.class);
		assertThat(context.getBeanNamesForType(RedisConnectionFactory.class))
			.containsExactlyInAnyOrder("redisConnectionFactory", "ordersRedis");
		assertThat(context.getBeanNamesForType(LockService.class)).containsExactlyInAnyOrder("holdfastLockService",
				"ordersLocks");
		assertThat(context.getBeanNamesForType(SemaphoreService.class))
			.containsExactlyInAnyOrder("holdfastSemaphoreService", "ordersSemaphores");
		LockLease lease = locks(context).acquire("a");
		assertThat(isLocked(this.first, "a")).isTrue();
		assertThat(isLocked(this.second, "a")).isFalse();
		assertThat(ordersLocks(context).acquireAsync(LockRequest.of("a"))).succeedsWithin(SOON).satisfies((other) -> {
			assertThat(isLocked(this.second, "a")).isTrue();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
			assertThat(isLocked(this.first, "a")).isFalse();
			assertThat(other.isHeld()).isTrue();
			other.close();
		});
		assertThat(isLocked(this.second, "a")).isFalse();
		PermitLease permit = context.getBean(SemaphoreService.class).acquire(SemaphoreRequest.of("a", 1));
		assertThat(context.getBean("ordersSemaphores", SemaphoreService.class).tryAcquire(SemaphoreRequest.of("a", 1)))
			.hasValueSatisfying(PermitLease::close);
		permit.close();
	}

	@Test
	@DisplayName("Annotated methods ask the service that they name, the others the default one")
	void annotations() {
		Shop shop = start(Annotated.class).getBean(Shop.class);
		shop.ship(() -> {
			assertThat(isLocked(this.second, "shop")).isTrue();
			assertThat(isLocked(this.first, "shop")).isFalse();
			shop.sell(() -> assertThat(isLocked(this.first, "shop")).isTrue());
		});
		assertThat(isLocked(this.first, "shop")).isFalse();
		assertThat(isLocked(this.second, "shop")).isFalse();
	}

	@Test
	@DisplayName("In each Redis the instances exclude each other, and wake each other up")
	void excludesInEach() {
		ConfigurableApplicationContext one = start(Orders.class, "holdfast.wake-up.handoff-timeout=60s");
		ConfigurableApplicationContext two = start(Orders.class, "holdfast.wake-up.handoff-timeout=60s");
		locks(one).acquire("warm-up").close();
		await("subscriptions").atMost(SOON)
			.until(() -> subscriptions(this.first) == 2 && subscriptions(this.second) == 2);
		for (String service : List.of("holdfastLockService", "ordersLocks")) {
			LockLease lease = one.getBean(service, LockService.class).acquire("a");
			LockService waiting = two.getBean(service, LockService.class);
			CompletableFuture<LockLease> next = waiting
				.acquireAsync(LockRequest.of("a").leaseTime(Duration.ofMinutes(5)).waitTime(Duration.ofMinutes(1)));
			await("a place in the queue").atMost(SOON).until(() -> waiting.status("a").waiting() == 1);
			lease.close();
			assertThat(next).succeedsWithin(SOON).satisfies(LockLease::close);
		}
	}

	@ParameterizedTest(name = "lazy: {0}")
	@ValueSource(booleans = { false, true })
	@DisplayName("The shut-down waits for work in flight in the other Redis, too: nothing new, and renewed until released")
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
	@DisplayName("What is not released in time is released in both Redis, and all engines are closed with the context")
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
	@DisplayName("A start that fails leaves nothing locked in either Redis")
	void startThatFails() {
		assertThatException().isThrownBy(() -> start(FailingStart.class)).withMessageContaining("no start");
		assertThat(isLocked(this.first, "start")).isFalse();
		assertThat(isLocked(this.second, "start")).isFalse();
	}

	@Test
	@DisplayName("A context that was stopped and is started again locks in both Redis")
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
	@DisplayName("Of two connection factories the default services have the primary one")
	void primaryConnection() {
		ConfigurableApplicationContext context = start(PrimaryConnection.class);
		locks(context).acquire("a");
		assertThat(isLocked(this.second, "a")).isTrue();
		context.getBean("firstLocks", LockService.class).acquire("b");
		assertThat(isLocked(this.first, "b")).isTrue();
	}

	@Test
	@DisplayName("Of two connection factories without a primary one each has what is defined on it, which is shut down in order")
	void noPrimaryConnection() {
		// Some of Spring Boot's own want a primary one.
		ConfigurableApplicationContext context = start(NoPrimaryConnection.class, LONG_SHUT_DOWN,
				"spring.autoconfigure.exclude=" + DataRedisReactiveAutoConfiguration.class.getName(),
				"spring.data.redis.repositories.enabled=false");
		assertThat(context.getBeanNamesForType(LockService.class)).containsExactly("ordersLocks");
		assertThat(context.getBeanNamesForType(SemaphoreService.class)).containsExactly("ordersSemaphores");
		LockLease lease = ordersLocks(context).acquire("a");
		CompletableFuture<Void> closing = closeInBackground(context);
		awaitShuttingDown(ordersLocks(context));
		assertThat(lease.isHeld()).isTrue();
		assertThat(closing).isNotDone();
		lease.close();
		assertThat(closing).succeedsWithin(SOON);
	}

	@Test
	@DisplayName("An engine that is a candidate takes the place of the default one, and is shut down in order")
	void replacesTheDefault() {
		ConfigurableApplicationContext context = start(OwnEngine.class, LONG_SHUT_DOWN);
		assertThat(context.getBeanNamesForType(LeaseEngine.class)).containsExactlyInAnyOrder("own", "ordersEngine");
		LockService locks = locks(context);
		LockLease lease = locks.acquire("a");
		assertThat(isLocked(this.second, "a")).isTrue();
		assertThat(ordersLocks(context).tryAcquire("a")).isEmpty();
		CompletableFuture<Void> closing = closeInBackground(context);
		awaitShuttingDown(locks);
		assertThat(lease.isHeld()).isTrue();
		assertThat(closing).isNotDone();
		lease.close();
		assertThat(closing).succeedsWithin(SOON);
	}

	@Test
	@DisplayName("A child context shuts its own engines down, in order, and leaves those of its parent alone")
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

	@Test
	@DisplayName("In memory the same application runs without either, and a key can be locked in both all the same")
	void inMemory() {
		ConfigurableApplicationContext context = start(Orders.class, "holdfast.backend=memory");
		LockLease lease = locks(context).acquire("a");
		assertThat(ordersLocks(context).tryAcquire("a")).hasValueSatisfying((other) -> {
			assertThat(isLocked(this.first, "a")).isFalse();
			assertThat(isLocked(this.second, "a")).isFalse();
			other.close();
		});
		lease.close();
	}

	/**
	 * As {@code docs/several-redis.md} shows it.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Orders {

		@Bean(defaultCandidate = false)
		LettuceConnectionFactory ordersRedis(@Value("${orders.redis.host}") String host,
				@Value("${orders.redis.port}") int port) {
			return new LettuceConnectionFactory(host, port);
		}

		@Bean(defaultCandidate = false)
		LeaseEngine ordersEngine(LeaseEngineFactory engines, @Qualifier("ordersRedis") RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LockService ordersLocks(@Qualifier("ordersEngine") LeaseEngine engine) {
			return new DefaultLockService(engine);
		}

		@Bean(defaultCandidate = false)
		SemaphoreService ordersSemaphores(@Qualifier("ordersEngine") LeaseEngine engine) {
			return new DefaultSemaphoreService(engine);
		}

	}

	static class Client {

		private final LockService locks;

		Client(LockService locks) {
			this.locks = locks;
		}

	}

	static class Shop {

		@DistributedLock(name = "shop")
		public void sell(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "shop", service = "ordersLocks")
		@Semaphore(name = "shop", limit = 1, service = "ordersSemaphores")
		public void ship(Runnable body) {
			body.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Orders.class, Shop.class })
	static class Annotated {

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
	@EnableAutoConfiguration
	static class PrimaryConnection {

		@Bean
		LettuceConnectionFactory firstRedis(@Value("${spring.data.redis.host}") String host,
				@Value("${spring.data.redis.port}") int port) {
			return new LettuceConnectionFactory(host, port);
		}

		@Bean
		@Primary
		LettuceConnectionFactory secondRedis(@Value("${orders.redis.host}") String host,
				@Value("${orders.redis.port}") int port) {
			return new LettuceConnectionFactory(host, port);
		}

		@Bean(defaultCandidate = false)
		LeaseEngine firstEngine(LeaseEngineFactory engines, @Qualifier("firstRedis") RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LockService firstLocks(@Qualifier("firstEngine") LeaseEngine engine) {
			return new DefaultLockService(engine);
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
