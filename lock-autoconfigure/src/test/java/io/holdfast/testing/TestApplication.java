package io.holdfast.testing;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContextException;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

import static org.awaitility.Awaitility.await;

/**
 * An application that uses Holdfast, and nothing else unless a test gives it more: it has
 * a third of what Spring Boot would configure, and starts in half the time. Each context
 * that is started is an instance of its own, in the test's JVM or in a child.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration
public class TestApplication {

	/** Properties of instances that pass nothing on among their own threads. */
	public static final List<String> STRICT_ORDER = List.of("holdfast.lock.local-hand-over.max-count=0",
			"holdfast.semaphore.local-hand-over.max-count=0");

	/** Start an instance of this application that is closed at the test's end. */
	public static ConfigurableApplicationContext start(TestRedis redis, String... properties) {
		return start(redis, TestApplication.class, properties);
	}

	/**
	 * Start an instance of an application that has configuration of its own, and is
	 * closed at the test's end.
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

	/** Start an instance of an application that has configuration of its own. */
	public static ConfigurableApplicationContext start(Class<?> application, String host, int port, String keyPrefix,
			List<String> properties) {
		Stream<String> common = Stream.of("spring.data.redis.host=" + host, "spring.data.redis.port=" + port,
				"holdfast.lock.key-prefix=" + keyPrefix, "holdfast.semaphore.key-prefix=" + semaphorePrefix(keyPrefix),
				"holdfast.wake-up.channel-prefix=" + channelPrefix(keyPrefix),
				"holdfast.fleet.key=" + fleetKey(keyPrefix),
				// What a test leaves held must not hold up its end.
				"spring.lifecycle.timeout-per-shutdown-phase=2s");
		return new SpringApplicationBuilder(application).web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.logStartupInfo(false)
			.registerShutdownHook(false)
			.properties(Stream.concat(common, properties.stream()).toArray(String[]::new))
			.run();
	}

	/**
	 * Return the refusal of a start. One of which Redis answers too late, as on a busy
	 * machine, is not refused, and repeated.
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

	/** What the keys of semaphores begin with. */
	public static String semaphorePrefix(String keyPrefix) {
		return keyPrefix + "semaphore:";
	}

	/** Where the instances say that they are there. */
	public static String fleetKey(String keyPrefix) {
		return keyPrefix + "holdfast:fleet";
	}

	/** What the names of the wake-up channels begin with. */
	public static String channelPrefix(String keyPrefix) {
		return keyPrefix + "wake:";
	}

}
