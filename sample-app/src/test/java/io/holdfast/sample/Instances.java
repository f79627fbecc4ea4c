package io.holdfast.sample;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpMethod;
import org.springframework.test.web.servlet.client.RestTestClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Several instances of the shop in this JVM, on an embedded Redis and a common database,
 * which the first instance starts.
 */
class Instances implements AutoCloseable {

	private static final int RANGES = 40;

	private static final int PORTS = 100;

	/** Marks the range of ports, beginning with this one, as taken for other JVMs. */
	private static final ServerSocket RANGE = takeRange();

	private static int given;

	private final int redisPort = freePort();

	private final int databasePort = freePort();

	private final Deque<ConfigurableApplicationContext> contexts = new ArrayDeque<>();

	Instance start(String... properties) {
		return start(0, properties);
	}

	/** Starts an instance on a port. */
	Instance start(int port, String... properties) {
		List<String> args = new ArrayList<>(List.of(properties));
		args.add("--server.port=" + port);
		args.add("--spring.data.redis.port=" + this.redisPort);
		args.add("--shop.database-port=" + this.databasePort);
		ConfigurableApplicationContext context = SampleApplication.application().run(args.toArray(String[]::new));
		this.contexts.push(context);
		return new Instance(context, context.getEnvironment().getRequiredProperty("local.server.port"));
	}

	/**
	 * Starts another application, with the console, on the Redis of the first instance.
	 */
	ConfigurableApplicationContext startOther(WebApplicationType type, Class<?> application, String... properties) {
		return new SpringApplicationBuilder(application).web(type)
			.run(Stream
				.concat(Stream.of("--server.port=0", "--spring.data.redis.port=" + this.redisPort,
						"--spring.config.name=none"), Stream.of(properties))
				.toArray(String[]::new));
	}

	/** Stops the first instance last, because Redis stops with it. */
	@Override
	public void close() {
		this.contexts.forEach(ConfigurableApplicationContext::close);
	}

	/**
	 * Finds a port below the ports of outgoing connections, which could take it first,
	 * and above the ports of the other modules' tests, in the range of this JVM.
	 */
	static synchronized int freePort() {
		for (int i = 1; i < PORTS; i++) {
			given = given % (PORTS - 1) + 1;
			try (ServerSocket socket = listen(RANGE.getLocalPort() + given)) {
				return socket.getLocalPort();
			}
			catch (IOException ex) {
				// In use: try another port.
			}
		}
		throw new IllegalStateException("No free port found above " + RANGE.getLocalPort());
	}

	private static ServerSocket takeRange() {
		int random = ThreadLocalRandom.current().nextInt(RANGES);
		for (int i = 0; i < RANGES; i++) {
			try {
				return listen(28_000 + (random + i) % RANGES * PORTS);
			}
			catch (IOException ex) {
				// Taken by another JVM.
			}
		}
		throw new IllegalStateException("No free range of ports found from 28000 to 31999");
	}

	private static ServerSocket listen(int port) throws IOException {
		return new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"));
	}

	record Instance(ConfigurableApplicationContext context, String port) {

		RestTestClient http() {
			return RestTestClient.bindToServer().baseUrl("http://localhost:" + this.port).build();
		}

		/** Posts a request that succeeds. */
		<T> T post(String uri, Class<T> type) {
			return send(HttpMethod.POST, uri, type);
		}

		/** Sends a request that succeeds. */
		<T> T send(HttpMethod method, String uri, Class<T> type) {
			T answer = http().method(method)
				.uri(uri)
				.exchange()
				.expectStatus()
				.isOk()
				.expectBody(type)
				.returnResult()
				.getResponseBody();
			assertThat(answer).isNotNull();
			return answer;
		}

		/** Sends a request that is refused. */
		void expectProblem(HttpMethod method, String uri, int status, String detail) {
			http().method(method)
				.uri(uri)
				.exchange()
				.expectStatus()
				.isEqualTo(status)
				.expectBody()
				.jsonPath("$.detail")
				.value(String.class, (text) -> assertThat(text).startsWith(detail));
		}

	}

}
