package io.holdfast.sample;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.client.RestTestClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Answers of the endpoints while Redis is down or silent, in an application without its
 * own error handling.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
class EndpointsWithoutRedisTests {

	private static final ServerSocket SILENT = listen();

	@AfterAll
	static void stop() throws IOException {
		SILENT.close();
	}

	private static ServerSocket listen() {
		try {
			return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	@DisplayName("While Redis is down, lists show the problem, and other requests get 503 with the reason, without a stack trace")
	void down(CapturedOutput output) {
		assertUnavailable(Instances.freePort(), output);
	}

	@Tag("slow")
	@Test
	@DisplayName("While Redis is silent, the answers are the same")
	void silent(CapturedOutput output) {
		assertUnavailable(SILENT.getLocalPort(), output);
	}

	private void assertUnavailable(int redis, CapturedOutput output) {
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Bare.class).run("--server.port=0",
				"--spring.data.redis.port=" + redis, "--spring.sql.init.mode=never",
				"--spring.datasource.url=jdbc:h2:mem:without-redis", "--holdfast.redis.command-timeout=500ms",
				"--spring.mvc.problemdetails.enabled=false")) {
			Instance instance = new Instance(context,
					context.getEnvironment().getRequiredProperty("local.server.port"));
			for (String endpoint : new String[] { "locks", "semaphores" }) {
				assertThat(instance.send(HttpMethod.GET, "/actuator/" + endpoint, String.class))
					.contains("\"problem\":\"The search for " + endpoint);
				expectUnavailable(instance.http().get().uri("/actuator/" + endpoint + "/a"));
				expectUnavailable(instance.http().delete().uri("/actuator/" + endpoint + "?key=a"));
			}
			expectUnavailable(instance.http()
				.method(HttpMethod.POST)
				.uri("/actuator/semaphores")
				.contentType(MediaType.APPLICATION_JSON)
				.body("{\"key\":\"a\",\"limit\":1}"));
		}
		assertThat(output).doesNotContain("Servlet.service()").doesNotContain("LeaseStoreException");
	}

	private static void expectUnavailable(RestTestClient.RequestHeadersSpec<?> request) {
		request.exchange()
			.expectStatus()
			.isEqualTo(503)
			.expectBody()
			.jsonPath("$.detail")
			.value(String.class, (message) -> assertThat(message).contains("'a' failed: "));
	}

	@EnableAutoConfiguration
	static class Bare {

	}

}
