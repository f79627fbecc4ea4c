package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import org.junit.jupiter.api.AfterEach;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

/**
 * Test of applications with locks and permits in two Redis servers.
 */
abstract class TwoRedisTestCase {

	static final Duration SOON = Duration.ofSeconds(10);

	private static final RedisScript<Long> CHANNELS = RedisScript
		.of("return #redis.call('PUBSUB', 'CHANNELS', ARGV[1])", Long.class);

	private final TestRedis redis;

	final StringRedisTemplate first;

	private final RedisServer secondServer;

	final StringRedisTemplate second;

	final Deque<ConfigurableApplicationContext> contexts = new ArrayDeque<>();

	TwoRedisTestCase(TestRedis redis) {
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

	ConfigurableApplicationContext start(Class<?> application, String... properties) {
		ConfigurableApplicationContext context = TestApplication.start(application, this.redis.host(),
				this.redis.port(), this.redis.keyPrefix(), properties(properties).toList());
		this.contexts.push(context);
		return context;
	}

	Stream<String> properties(String... properties) {
		Stream<String> common = Stream.of("orders.redis.host=" + this.secondServer.host(),
				"orders.redis.port=" + this.secondServer.port(), "holdfast.redis.command-timeout=5s");
		return Stream.concat(common, Stream.of(properties));
	}

	static LockService locks(ConfigurableApplicationContext context) {
		return context.getBean(LockService.class);
	}

	static LockService ordersLocks(ConfigurableApplicationContext context) {
		return context.getBean("ordersLocks", LockService.class);
	}

	boolean isLocked(StringRedisTemplate where, String key) {
		return Boolean.TRUE.equals(where.hasKey(this.redis.keyPrefix() + key));
	}

	int subscriptions(StringRedisTemplate where) {
		Long count = where.execute(CHANNELS, List.of(), TestApplication.channelPrefix(this.redis.keyPrefix()) + "*");
		return (count != null) ? count.intValue() : 0;
	}

	/**
	 * Beans as in {@code docs/services.md}.
	 */
	@Configuration(proxyBeanMethods = false)
	@Import(TestApplication.class)
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

}
