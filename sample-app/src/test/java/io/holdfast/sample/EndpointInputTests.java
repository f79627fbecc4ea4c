package io.holdfast.sample;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Requests to the endpoints and the console that no benign client sends, with Spring MVC
 * and with Spring WebFlux.
 */
@ParameterizedClass
@EnumSource(names = { "SERVLET", "REACTIVE" })
@ExtendWith(OutputCaptureExtension.class)
class EndpointInputTests {

	private static final int ATTEMPTS = 10;

	private static Instances redis;

	private static ConfigurableApplicationContext context;

	private static String base;

	private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

	@Parameter
	WebApplicationType type;

	@BeforeAll
	static void startRedis() {
		redis = new Instances();
		redis.start("--shop.report-cron=-");
	}

	@AfterAll
	static void stopRedis() {
		redis.close();
	}

	@BeforeParameterizedClassInvocation
	static void start(WebApplicationType type) {
		context = redis.startOther(type, Application.class, "--holdfast.console.enabled=true",
				"--management.endpoints.web.exposure.include=*", "--management.endpoints.access.default=unrestricted");
		base = "http://localhost:" + context.getEnvironment().getRequiredProperty("local.server.port") + "/actuator/";
	}

	@AfterParameterizedClassInvocation
	static void close() {
		context.close();
	}

	private HttpResponse<String> send(String method, String path, String type, String body)
			throws IOException, InterruptedException {
		HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path))
			.method(method, BodyPublishers.ofString(body));
		HttpRequest built = type.isEmpty() ? request.build() : request.header("Content-Type", type).build();
		for (int attempt = 1;; attempt++) {
			try {
				return this.client.send(built, BodyHandlers.ofString());
			}
			catch (IOException ex) {
				// With WebFlux on Tomcat, Reactor may interrupt the thread that writes a
				// refusal, and Tomcat then cuts the connection. A refused request can be
				// sent again.
				if (attempt == ATTEMPTS) {
					throw ex;
				}
			}
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "page=0", "page=-1", "page=99999999999", "page=1.5", "page=%20", "limit=-2147483648",
			"page=1&limit=1001", "heldFor=-1s", "heldFor=soon", "heldFor=99999999d", "state=HELD", "sort=size",
			"search=a&cursor=0-0", "key=a&page=1", "key=", "key=%20", "key=a%00b", "key=a%0D%0Ab", "key=%C2%85",
			"key=x&state=contended" })
	@DisplayName("Invalid parameters are refused, and no answer is a server error")
	void parameters(String query) throws Exception {
		HttpResponse<String> answer = send("GET", "locks?" + query, "", "");
		assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
		assertThat(answer.body()).contains("\"detail\":");
	}

	@ParameterizedTest
	@ValueSource(strings = { "page=2147483647&limit=1000", "search=%25%2A%5B%5D%3F%5C%7B%7D", "search=%F0%9F%94%92",
			"search=%00", "search=%FF%FE", "sort=AGE&page=2147483647", "heldFor=36500d&state=not-renewed", "key=%FF%FE",
			"key=%ED%A0%80", "key=%2A", "key=..%2F..%2Fetc", "key=%7Ba%7D%7Bb%7D", "cursor=" })
	@DisplayName("Unusual texts and pages beyond the last find nothing, and keys are no patterns")
	void nothingFound(String query) throws Exception {
		HttpResponse<String> answer = send("GET", "locks?" + query, "", "");
		assertThat(answer.statusCode()).as(answer.body()).isIn(200, 400);
		if (answer.statusCode() == 200) {
			assertThat(answer.body()).contains("\"locks\":[]").doesNotContain("\"problem\":\"");
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "locks?search=", "locks?key=", "semaphores?search=", "semaphores?key=", "locks/",
			"holdfast/", "locks?cursor=" })
	@DisplayName("Too long texts are refused, or find nothing")
	void huge(String path) throws Exception {
		for (int length : List.of(1025, 7000)) {
			int status = send("GET", path + "x".repeat(length), "", "").statusCode();
			assertThat(status).as(path + length).isIn(200, 400, 404, 414, 431);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "null", "[]", "3", "\"key\"", "{", "{\"key\":{}}", "{\"key\":\"a\",\"limit\":1e999}",
			"{\"key\":\"a\",\"limit\":99999999999}", "{\"key\":\"a\",\"limit\":\"x\"}", "{\"key\":\"\",\"limit\":1}",
			"{\"key\":\"a\\nb\",\"limit\":1}", "{\"key\":\"a\",\"clear\":\"perhaps\"}" })
	@DisplayName("Invalid bodies set no limit, and are refused")
	void bodies(String body) throws Exception {
		HttpResponse<String> answer = send("POST", "semaphores", "application/json", body);
		assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
		assertThat(context.getBean(SemaphoreService.class).status("a").limit()).isNull();
	}

	@ParameterizedTest
	@ValueSource(ints = { -1, 1_000_000_001 })
	@DisplayName("The response to a refused limit names the value and the bounds")
	void limit(int limit) throws Exception {
		HttpResponse<String> answer = send("POST", "semaphores", "application/json",
				"{\"key\":\"a\",\"limit\":" + limit + "}");
		assertThat(answer.statusCode()).isEqualTo(400);
		assertThat(answer.body())
			.contains("limit of semaphore 'a' is " + limit + ", which is not from 0 to 1000000000");
	}

	@ParameterizedTest
	@ValueSource(strings = { "PUT locks?key=a", "PATCH locks?key=a", "POST locks?key=a", "PUT semaphores",
			"POST holdfast", "DELETE holdfast", "DELETE holdfast/main.js", "PUT holdfast/settings", "DELETE locks/a",
			"POST semaphores/a" })
	@DisplayName("Unsupported HTTP methods are refused")
	void methods(String request) throws Exception {
		String[] words = request.split(" ");
		assertThat(send(words[0], words[1], "application/json", "{}").statusCode()).isIn(404, 405);
	}

	@ParameterizedTest
	@ValueSource(strings = { "a%0D%0AReleased%20lock%20'b'%20by%20force", "a%00", "%20" })
	@DisplayName("A key cannot forge a log line by a forced release")
	void log(String key, CapturedOutput output) throws Exception {
		LockLease lease = context.getBean(LockService.class).acquireAsync(LockRequest.of("b")).join();
		assertThat(send("DELETE", "locks?key=" + key, "", "").statusCode()).isEqualTo(400);
		assertThat(lease.isHeld()).isTrue();
		lease.close();
		assertThat(output).doesNotContain("Released lock 'b' by force");
	}

	@EnableAutoConfiguration
	static class Application {

	}

}
