package io.holdfast.testing;

import java.io.IOException;
import java.time.Duration;

import com.github.dockerjava.api.DockerClient;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.testcontainers.lifecycle.TestcontainersLifecycleApplicationContextInitializer;
import org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * Redis that the tests of this JVM share: the Redis of {@code
 * -Dholdfast.test.redis=host:port}, or else a process of the {@link RedisBinary} that a
 * property names, or else a Redis in Docker, or else the embedded Redis. Chosen at the
 * first use, and ended with the JVM.
 */
final class SharedRedis {

	private static final String PROPERTY = "holdfast.test.redis";

	private static final Log logger = LogFactory.getLog(SharedRedis.class);

	private static @Nullable SharedRedis instance;

	private final Way way;

	private final String host;

	private final int port;

	private final StringRedisTemplate template;

	private SharedRedis(Way way, String host, int port) {
		this.way = way;
		this.host = host;
		this.port = port;
		LettuceConnectionFactory connections = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration(host, port),
				LettuceClientConfiguration.builder().commandTimeout(Duration.ofSeconds(10)).build());
		connections.afterPropertiesSet();
		connections.start();
		this.template = new StringRedisTemplate(connections);
		logger.info("Tests use the Redis at " + host + ":" + port + ", " + way.description);
	}

	static synchronized SharedRedis get() {
		SharedRedis result = instance;
		if (result == null) {
			result = choose();
			instance = result;
		}
		return result;
	}

	Way way() {
		return this.way;
	}

	String host() {
		return this.host;
	}

	int port() {
		return this.port;
	}

	/**
	 * Return a template for checks and clean-ups, with a connection separate from the
	 * tested connections.
	 * @return the template, open until the JVM ends
	 */
	StringRedisTemplate template() {
		return this.template;
	}

	private static SharedRedis choose() {
		String named = System.getProperty(PROPERTY);
		if (StringUtils.hasText(named)) {
			return named(named.trim());
		}
		if (RedisBinary.isNamed()) {
			return started(Way.BINARY);
		}
		if (DockerClientFactory.instance().isDockerAvailable()) {
			try {
				return inDocker();
			}
			catch (RuntimeException ex) {
				// Docker has no image, and cannot download the image.
				logger.warn("Redis does not start in Docker, so the embedded one is used: " + ex);
			}
		}
		return started(Way.EMBEDDED);
	}

	private static SharedRedis started(Way way) {
		RedisServer server = RedisServer.start();
		return new SharedRedis(way, server.host(), server.port());
	}

	private static SharedRedis named(String address) {
		int colon = address.lastIndexOf(':');
		Assert.state(colon > 0 && address.substring(colon + 1).matches("\\d{1,5}"),
				() -> "-D" + PROPERTY + "=" + address + " does not have the form host:port");
		String host = address.substring(0, colon);
		int port = Integer.parseInt(address.substring(colon + 1));
		try {
			String answer = RedisPing.send(host, port);
			Assert.state(answer.equals("+PONG"),
					() -> "The Redis that -D" + PROPERTY + "=" + address + " names answers PING by " + answer);
		}
		catch (IOException ex) {
			throw new IllegalStateException("No Redis answers at the address that -D" + PROPERTY + "=" + address
					+ " names (" + ex.getMessage() + "): start one there, or leave the property out", ex);
		}
		return new SharedRedis(Way.NAMED, host, port);
	}

	/** Same configuration as for tests of applications: Spring Boot knows the address. */
	private static SharedRedis inDocker() {
		pullIfMissing(RedisContainerConfiguration.IMAGE);
		AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
		new TestcontainersLifecycleApplicationContextInitializer().initialize(context);
		context.register(DockerConfiguration.class);
		context.registerShutdownHook();
		context.refresh();
		DataRedisConnectionDetails.Standalone address = context.getBean(DataRedisConnectionDetails.class)
			.getStandalone();
		Assert.state(address != null, "A container is a standalone Redis");
		return new SharedRedis(Way.DOCKER, address.getHost(), address.getPort());
	}

	/**
	 * A single attempt: the container would try for minutes if the image is not
	 * available.
	 */
	static void pullIfMissing(String image) {
		DockerClient docker = DockerClientFactory.instance().client();
		if (docker.listImagesCmd().withReferenceFilter(image).exec().isEmpty()) {
			try {
				docker.pullImageCmd(image).start().awaitCompletion();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new IllegalStateException("Interrupted while pulling " + image, ex);
			}
		}
	}

	/** Source of the tests' Redis. */
	enum Way {

		NAMED("named by -D" + PROPERTY), BINARY("a process of the binary that -D" + RedisBinary.PROPERTY + " names"),
		DOCKER("a container in Docker"), EMBEDDED("a process of the embedded binary");

		private final String description;

		Way(String description) {
			this.description = description;
		}

	}

	@Import(RedisContainerConfiguration.class)
	@ImportAutoConfiguration(ServiceConnectionAutoConfiguration.class)
	private static final class DockerConfiguration {

	}

}
