package io.holdfast.sample;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Start and end of the sample's own Redis.
 */
class EmbeddedRedisTests {

	private static final String BINARY = System.getProperty("holdfast.test.redis-binary", "");

	private final int port = Instances.freePort();

	@Test
	@DisplayName("The first instance starts Redis, the second uses it, and Redis stops with the first")
	void startsAndStopsWithTheFirstInstance() {
		GenericApplicationContext first = instance();
		GenericApplicationContext second = instance();
		second.close();
		assertThat(isListening()).isTrue();
		first.close();
		assertThat(isListening()).isFalse();
	}

	@Test
	@DisplayName("Of two instances that start at the same time one starts Redis and both can use it")
	void startsOneForTwoInstancesAtTheSameTime() throws Exception {
		ExecutorService threads = Executors.newFixedThreadPool(2);
		try {
			Callable<GenericApplicationContext> start = this::instance;
			List<Future<GenericApplicationContext>> started = threads.invokeAll(List.of(start, start));
			assertThat(isListening()).isTrue();
			started.get(0).get().close();
			started.get(1).get().close();
			assertThat(isListening()).isFalse();
		}
		finally {
			threads.shutdownNow();
		}
	}

	@Test
	@DisplayName("Redis stops when the instance that started it is killed")
	void stopsWhenKilled() throws Exception {
		Process instance = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
				System.getProperty("java.class.path"), "-Dholdfast.test.redis-binary=" + BINARY, Child.class.getName(),
				Integer.toString(this.port))
			.redirectOutput(Redirect.DISCARD)
			.redirectError(Redirect.DISCARD)
			.start();
		try {
			await().atMost(Duration.ofSeconds(60)).until(this::isListening);
		}
		finally {
			instance.destroyForcibly().waitFor();
		}
		await().atMost(Duration.ofSeconds(20)).until(() -> !isListening());
	}

	@Test
	@DisplayName("A port in use by another program is reported")
	void tellsThatThePortIsUsed() throws IOException {
		try (ServerSocket other = new ServerSocket(this.port, 50, InetAddress.getByName("127.0.0.1"))) {
			assertThat(other.isBound()).isTrue();
			assertThatIllegalStateException().isThrownBy(this::instance)
				.withMessageContaining("none could be started there")
				.havingCause()
				.withMessageContaining("Does another program use the port?");
		}
	}

	@Test
	@DisplayName("No Redis is started for an address that is not local, or for a URL")
	void startsNoneForOtherAddresses() {
		instance("spring.data.redis.host", "redis.invalid").close();
		instance("spring.data.redis.url", "redis://localhost:" + this.port).close();
		assertThat(isListening()).isFalse();
	}

	private GenericApplicationContext instance() {
		return instance("spring.data.redis.host", "localhost");
	}

	private GenericApplicationContext instance(String property, String value) {
		return start(Map.of(property, value, "spring.data.redis.port", this.port));
	}

	private boolean isListening() {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress("127.0.0.1", this.port));
			return true;
		}
		catch (IOException ex) {
			return false;
		}
	}

	private static GenericApplicationContext start(Map<String, Object> properties) {
		GenericApplicationContext context = new GenericApplicationContext();
		context.getEnvironment()
			.getPropertySources()
			.addFirst(new MapPropertySource("binary", Map.of("shop.redis-binary", BINARY)));
		context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
		new EmbeddedRedis().initialize(context);
		context.refresh();
		return context;
	}

	/**
	 * Instance for a kill.
	 */
	static final class Child {

		public static void main(String[] args) throws InterruptedException {
			start(Map.of("spring.data.redis.port", args[0]));
			Thread.currentThread().join();
		}

	}

}
