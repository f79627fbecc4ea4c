package io.holdfast.sample;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configuration.EnableWebSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.test.web.servlet.client.ExchangeResult;
import org.springframework.test.web.servlet.client.RestTestClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Console of an application, with Spring MVC and with Spring WebFlux: its place, its
 * rights, and its protection against foreign pages.
 */
@ExtendWith(OutputCaptureExtension.class)
class ConsoleServingTests {

	private static final String ON = "--holdfast.console.enabled=true";

	private static final String EXPOSED = "--management.endpoints.web.exposure.include=*";

	private static final String UNRESTRICTED = "--management.endpoints.access.default=unrestricted";

	private static Instances redis;

	private final List<ConfigurableApplicationContext> started = new ArrayList<>();

	@BeforeAll
	static void startRedis() {
		redis = new Instances();
		redis.start();
	}

	@AfterAll
	static void stopRedis() {
		redis.close();
	}

	@AfterEach
	void stop() {
		this.started.forEach(ConfigurableApplicationContext::close);
	}

	private ConfigurableApplicationContext run(WebApplicationType type, Class<?> application, String... properties) {
		ConfigurableApplicationContext context = redis.startOther(type, application, properties);
		this.started.add(context);
		return context;
	}

	private static RestTestClient http(ConfigurableApplicationContext context, String port) {
		return RestTestClient.bindToServer()
			.baseUrl("http://localhost:" + context.getEnvironment().getRequiredProperty(port))
			.build();
	}

	private static RestTestClient http(ConfigurableApplicationContext context) {
		return http(context, "local.server.port");
	}

	private static int status(RestTestClient http, String path) {
		return http.get().uri(path).exchange().returnResult().getStatus().value();
	}

	private static ExchangeResult page(RestTestClient http, String path) {
		ExchangeResult page = http.get()
			.uri(path)
			.accept(MediaType.ALL)
			.exchange()
			.expectStatus()
			.isOk()
			.returnResult();
		assertThat(page.getResponseHeaders().getFirst("Content-Security-Policy"))
			.contains("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'")
			.doesNotContain("unsafe");
		assertThat(page.getResponseHeaders().getCacheControl()).isEqualTo("no-store");
		return page;
	}

	private static String body(RestTestClient http, String path) {
		return String.valueOf(http.get()
			.uri(path)
			.exchange()
			.expectStatus()
			.isOk()
			.expectBody(String.class)
			.returnResult()
			.getResponseBody());
	}

	@ParameterizedTest
	@EnumSource(names = { "SERVLET", "REACTIVE" })
	@DisplayName("The console is a page of Actuator with its files, each with a strict policy, and read-only by default")
	void serves(WebApplicationType type) {
		ConfigurableApplicationContext context = run(type, Bare.class, ON, EXPOSED);
		RestTestClient http = http(context);
		assertThat(page(http, "/actuator/holdfast").getResponseHeaders().getContentType())
			.isEqualTo(MediaType.parseMediaType("text/html;charset=UTF-8"));
		assertThat(body(http, "/actuator/holdfast")).contains("src=\"holdfast/main.js\"");
		assertThat(page(http, "/actuator/holdfast/main.js").getResponseHeaders().getContentType())
			.isEqualTo(MediaType.parseMediaType("text/javascript;charset=UTF-8"));
		assertThat(page(http, "/actuator/holdfast/style.css").getResponseHeaders().getContentType())
			.isEqualTo(MediaType.parseMediaType("text/css;charset=UTF-8"));
		assertThat(page(http, "/actuator/holdfast/icon.svg").getResponseHeaders().getContentType())
			.isEqualTo(MediaType.parseMediaType("image/svg+xml;charset=UTF-8"));
		for (String missing : List.of("index.html", "none.js", "..%2Findex.html", "main.js.map")) {
			assertThat(status(http, "/actuator/holdfast/" + missing)).as(missing).isBetween(400, 404);
		}
		page(http, "/actuator/holdfast/settings");
		http.get()
			.uri("/actuator/holdfast/settings")
			.exchange()
			.expectBody()
			.json("{\"locks\":{\"path\":\"locks\",\"writable\":false},"
					+ "\"semaphores\":{\"path\":\"semaphores\",\"writable\":false},\"depth\":1}");
		http.delete().uri("/actuator/locks?key=a").exchange().expectStatus().isEqualTo(405);
		http.post()
			.uri("/actuator/semaphores")
			.contentType(MediaType.APPLICATION_JSON)
			.body("{\"key\":\"a\",\"limit\":1}")
			.exchange()
			.expectStatus()
			.isEqualTo(405);
	}

	@ParameterizedTest
	@EnumSource(names = { "SERVLET", "REACTIVE" })
	@DisplayName("The console follows the port, the base path and the paths of Actuator")
	void goesWithActuator(WebApplicationType type) {
		ConfigurableApplicationContext context = run(type, Bare.class, ON, EXPOSED, "--management.server.port=0",
				"--management.endpoints.web.base-path=/ops",
				"--management.endpoints.web.path-mapping.holdfast=tools/console",
				"--management.endpoints.web.path-mapping.locks=all-locks",
				"--management.endpoint.locks.access=unrestricted");
		RestTestClient http = http(context, "local.management.port");
		page(http, "/ops/tools/console");
		assertThat(body(http, "/ops/tools/console")).contains("src=\"console/main.js\"");
		page(http, "/ops/tools/console/main.js");
		assertThat(body(http, "/ops/tools/console/settings")).contains("\"all-locks\"", "\"depth\":2",
				"\"writable\":true");
		assertThat(status(http(context), "/ops/tools/console")).isEqualTo(404);
		assertThat(status(http(context), "/actuator/holdfast")).isEqualTo(404);
	}

	@ParameterizedTest
	@EnumSource(names = { "SERVLET", "REACTIVE" })
	@DisplayName("The console is off by default, even if all endpoints are exposed")
	void isOffByDefault(WebApplicationType type) {
		RestTestClient http = http(run(type, Bare.class, EXPOSED));
		assertThat(status(http, "/actuator/holdfast")).isEqualTo(404);
		assertThat(status(http, "/actuator/locks")).isEqualTo(200);
		assertThat(status(http, "/META-INF/holdfast/console/index.html")).isEqualTo(404);
	}

	@Test
	@DisplayName("An enabled console that is not exposed gives a warning with the missing property, as does access none")
	void needsExposure(CapturedOutput output) {
		assertThat(status(http(run(WebApplicationType.SERVLET, Bare.class, ON)), "/actuator/holdfast")).isEqualTo(404);
		assertThat(output).contains("There is no console although holdfast.console.enabled=true: add 'holdfast' to "
				+ "management.endpoints.web.exposure.include");
		assertThat(status(http(
				run(WebApplicationType.SERVLET, Bare.class, ON, EXPOSED, "--management.endpoint.holdfast.access=none")),
				"/actuator/holdfast"))
			.isEqualTo(404);
	}

	@ParameterizedTest
	@EnumSource(names = { "SERVLET", "REACTIVE" })
	@DisplayName("A foreign page can change nothing: its simple requests are refused, and other requests are not allowed")
	void refusesForgery(WebApplicationType type) {
		ConfigurableApplicationContext context = run(type, Bare.class, ON, EXPOSED, UNRESTRICTED);
		RestTestClient http = http(context);
		LockLease lease = context.getBean(LockService.class).acquireAsync(LockRequest.of("forged")).join();
		for (MediaType form : List.of(MediaType.TEXT_PLAIN, MediaType.APPLICATION_FORM_URLENCODED)) {
			http.post()
				.uri("/actuator/semaphores")
				.header(HttpHeaders.ORIGIN, "https://evil.example")
				.contentType(form)
				.body("{\"key\":\"forged\",\"limit\":1}")
				.exchange()
				.expectStatus()
				.isEqualTo(415);
			http.post()
				.uri("/actuator/locks?key=forged&_method=DELETE")
				.contentType(form)
				.body("_method=DELETE")
				.exchange()
				.expectStatus()
				.isEqualTo(405);
		}
		ExchangeResult preflight = http.options()
			.uri("/actuator/locks?key=forged")
			.header(HttpHeaders.ORIGIN, "https://evil.example")
			.header(HttpHeaders.ACCESS_CONTROL_REQUEST_METHOD, "DELETE")
			.exchange()
			.returnResult();
		assertThat(preflight.getResponseHeaders().getAccessControlAllowOrigin()).isNull();
		assertThat(lease.isHeld()).isTrue();
		http.delete().uri("/actuator/locks?key=forged").exchange().expectStatus().isOk();
	}

	@Test
	@DisplayName("With Spring Security the console needs the endpoint's rights, sends the required token, and logs the user")
	void goesWithSecurity(CapturedOutput output) {
		ConfigurableApplicationContext context = run(WebApplicationType.SERVLET, Secured.class, ON, EXPOSED,
				UNRESTRICTED);
		RestTestClient http = http(context);
		assertThat(status(http, "/actuator/holdfast")).isEqualTo(401);
		context.getBean(LockService.class).acquireAsync(LockRequest.of("secured")).join();
		ExchangeResult settings = http.get()
			.uri("/actuator/holdfast/settings")
			.headers((headers) -> headers.setBasicAuth("anna", "secret"))
			.exchange()
			.expectStatus()
			.isOk()
			.returnResult();
		String session = Objects.requireNonNull(settings.getResponseHeaders().getFirst(HttpHeaders.SET_COOKIE))
			.split(";")[0];
		String[] token = Objects.requireNonNull(settings.getResponseHeaders().getFirst("Holdfast-Csrf")).split(" ");
		assertThat(token[0]).isEqualTo("X-CSRF-TOKEN");
		RestTestClient.RequestHeadersSpec<?> release = http.method(HttpMethod.DELETE)
			.uri("/actuator/locks?key=secured")
			.headers((headers) -> headers.setBasicAuth("anna", "secret"))
			.header(HttpHeaders.COOKIE, session);
		release.exchange().expectStatus().isForbidden();
		release.header(token[0], token[1]).exchange().expectStatus().isOk();
		assertThat(output)
			.containsPattern("Released lock 'secured' by force, .* \\(requested at an endpoint by anna\\)");
	}

	@EnableAutoConfiguration
	static class Bare {

	}

	@EnableAutoConfiguration
	@EnableWebSecurity
	static class Secured {

		@Bean
		SecurityFilterChain security(HttpSecurity http) throws Exception {
			return http.authorizeHttpRequests((requests) -> requests.anyRequest().authenticated())
				.httpBasic(Customizer.withDefaults())
				.build();
		}

		@Bean
		InMemoryUserDetailsManager users() {
			return new InMemoryUserDetailsManager(
					User.withUsername("anna").password("{noop}secret").roles("ADMIN").build());
		}

	}

}
