package io.holdfast.fleet;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.autoconfigure.HoldfastAopAutoConfiguration;
import io.holdfast.autoconfigure.HoldfastAutoConfiguration;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/**
 * One instance of an application that uses Holdfast: an application context, in the
 * test's JVM or in a child.
 */
final class Instance {

	private Instance() {
	}

	/**
	 * Start one.
	 * @param host where its Redis is
	 * @param port where its Redis is
	 * @param keyPrefix what its lock keys begin with
	 * @param properties further properties, {@code name=value}
	 * @return the running context
	 */
	static ConfigurableApplicationContext start(String host, int port, String keyPrefix, List<String> properties) {
		List<String> all = new ArrayList<>(List.of("spring.data.redis.host=" + host, "spring.data.redis.port=" + port,
				"holdfast.lock.key-prefix=" + keyPrefix, "holdfast.wake-up.channel-prefix=" + keyPrefix + "wake:",
				// What a test leaves held must not hold up its end.
				"spring.lifecycle.timeout-per-shutdown-phase=1s"));
		all.addAll(properties);
		return new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.logStartupInfo(false)
			.registerShutdownHook(false)
			.run(all.stream().map((property) -> "--" + property).toArray(String[]::new));
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ DataRedisAutoConfiguration.class, HoldfastAutoConfiguration.class,
			HoldfastAopAutoConfiguration.class })
	static class Application {

	}

}
