package io.holdfast.testing;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

import io.holdfast.autoconfigure.HoldfastAopAutoConfiguration;
import io.holdfast.autoconfigure.HoldfastAutoConfiguration;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContextException;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

import static org.awaitility.Awaitility.await;

/**
 * Application that uses only Holdfast, unless a test adds configuration. With a third of
 * Spring Boot's auto-configurations, the start takes half the time. Each started context
 * is a separate instance, in the test's JVM or in a child.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration
public class TestApplication {

	/** Properties of instances without local hand-over. */
	public static final List<String> STRICT_ORDER = List.of("holdfast.lock.local-hand-over.max-count=0",
			"holdfast.semaphore.local-hand-over.max-count=0");

	/** Start an instance of this application, which is closed at the end of the test. */
	public static ConfigurableApplicationContext start(TestRedis redis, String... properties) {
		return start(redis, TestApplication.class, properties);
	}

	/**
	 * Start an instance of this application with a further bean or configuration, which
	 * is closed at the end of the test.
	 */
	public static ConfigurableApplicationContext start(TestRedis redis, Class<?> application, String... properties) {
		ConfigurableApplicationContext context = start(application, redis.host(), redis.port(), redis.keyPrefix(),
				List.of(properties));
		redis.closeAtEnd(context::close);
		return context;
	}

	/** Start an instance of this application. */
	public static ConfigurableApplicationContext start(String host, int port, String keyPrefix,
			List<String> properties) {
		return start(TestApplication.class, host, port, keyPrefix, properties);
	}

	/** Start an instance of this application with a further bean or configuration. */
	public static ConfigurableApplicationContext start(Class<?> application, String host, int port, String keyPrefix,
			List<String> properties) {
		Stream<String> common = Stream.of("spring.data.redis.host=" + host, "spring.data.redis.port=" + port,
				"holdfast.lock.key-prefix=" + keyPrefix, "holdfast.semaphore.key-prefix=" + semaphorePrefix(keyPrefix),
				"holdfast.wake-up.channel-prefix=" + channelPrefix(keyPrefix),
				"holdfast.fleet.key=" + fleetKey(keyPrefix),
				// A lease that a test leaves held must not delay the end of the test.
				"spring.lifecycle.timeout-per-shutdown-phase=2s");
		return new SpringApplicationBuilder(TestApplication.class, application).web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.logStartupInfo(false)
			.registerShutdownHook(false)
			.properties(Stream.concat(common, properties.stream()).toArray(String[]::new))
			.run();
	}

	/**
	 * Return a runner of contexts that keep their leases in memory.
	 * @param further auto-configurations besides those of services and annotations
	 */
	public static ApplicationContextRunner runner(Class<?>... further) {
		return new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class))
			.withConfiguration(AutoConfigurations.of(further))
			.withPropertyValues("holdfast.backend=memory");
	}

	/**
	 * Return a runner of contexts on a test's Redis.
	 * @param redis the test's Redis
	 * @param further auto-configurations besides those of services and annotations
	 */
	public static ApplicationContextRunner runner(TestRedis redis, Class<?>... further) {
		return runner(further).withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
			.withPropertyValues("holdfast.backend=redis", "spring.data.redis.host=" + redis.host(),
					"spring.data.redis.port=" + redis.port(), "holdfast.lock.key-prefix=" + redis.keyPrefix(),
					"holdfast.semaphore.key-prefix=" + semaphorePrefix(redis.keyPrefix()));
	}

	/**
	 * Return the refusal of a start. If Redis answers too late, as on a busy machine, the
	 * start is not refused, and is repeated.
	 */
	public static ApplicationContextException refusal(Callable<? extends AutoCloseable> start) {
		return await("a refusal").atMost(Duration.ofSeconds(30)).until(() -> {
			try {
				start.call().close();
				return null;
			}
			catch (ApplicationContextException ex) {
				return ex;
			}
		}, Objects::nonNull);
	}

	/** Return the prefix of the keys of semaphores. */
	public static String semaphorePrefix(String keyPrefix) {
		return keyPrefix + "semaphore:";
	}

	/** Return the key of the register of instances. */
	public static String fleetKey(String keyPrefix) {
		return keyPrefix + "holdfast:fleet";
	}

	/** Return the prefix of the channels for notifications. */
	public static String channelPrefix(String keyPrefix) {
		return keyPrefix + "wake:";
	}

}
