package io.holdfast.sample;

import java.util.List;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.security.autoconfigure.actuate.web.servlet.EndpointRequest;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configuration.EnableWebSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.test.web.servlet.client.RestTestClient;

/**
 * Example of {@code docs/watching.md}: the endpoints with Spring Security.
 */
class SecuredEndpointsTests {

	private static ConfigurableApplicationContext context;

	private static RestTestClient http;

	@BeforeAll
	static void start() {
		SpringApplication application = SampleApplication.application();
		application.addPrimarySources(List.of(Security.class));
		context = application.run("--server.port=0", "--spring.data.redis.port=" + Instances.freePort(),
				"--shop.database-port=" + Instances.freePort(), "--management.endpoints.web.base-path=/manage");
		String port = context.getEnvironment().getRequiredProperty("local.server.port");
		http = RestTestClient.bindToServer().baseUrl("http://localhost:" + port).build();
	}

	@AfterAll
	static void stop() {
		context.close();
	}

	@ParameterizedTest
	@CsvSource({ "GET, /manage/health, anonymous, 200", "GET, /manage/locks, anonymous, 401",
			"GET, /manage/locks, operator, 200", "GET, /manage/semaphores, operator, 200",
			"GET, /manage/locks, admin, 403", "GET, /manage, anonymous, 401",
			"DELETE, /manage/locks?key=stock:a, operator, 403", "DELETE, /manage/locks?key=stock:a, anonymous, 403",
			"DELETE, /manage/locks?key=stock:a, admin, 403" })
	@DisplayName("Roles see the endpoints, also below another base path, and changes need a token against forgery")
	void roles(String method, String uri, String user, int status) {
		http.method(HttpMethod.valueOf(method))
			.uri(uri)
			.headers((headers) -> logIn(headers, user))
			.exchange()
			.expectStatus()
			.isEqualTo(status);
	}

	private static void logIn(HttpHeaders headers, String user) {
		if (!user.equals("anonymous")) {
			headers.setBasicAuth(user, "secret");
		}
	}

	/** Not annotated as a configuration, which the sample would find in all tests. */
	@EnableWebSecurity
	static class Security {

		@Bean
		@Order(1)
		SecurityFilterChain actuator(HttpSecurity http) throws Exception {
			return http.securityMatcher(EndpointRequest.toAnyEndpoint())
				.authorizeHttpRequests((requests) -> requests.requestMatchers(EndpointRequest.to("health"))
					.permitAll()
					.requestMatchers(HttpMethod.GET)
					.hasRole("OPERATOR")
					.anyRequest()
					.hasRole("ADMIN"))
				.httpBasic(Customizer.withDefaults())
				.build();
		}

		@Bean
		UserDetailsService users() {
			return new InMemoryUserDetailsManager(user("operator", "OPERATOR"), user("admin", "ADMIN"));
		}

		private static UserDetails user(String name, String role) {
			return User.withUsername(name).password("{noop}secret").roles(role).build();
		}

	}

}
