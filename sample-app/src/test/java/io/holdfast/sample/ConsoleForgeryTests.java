package io.holdfast.sample;

import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpMethod;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configuration.EnableWebSecurity;
import org.springframework.security.config.annotation.web.configurers.CsrfConfigurer;
import org.springframework.security.config.annotation.web.reactive.EnableWebFluxSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.core.userdetails.MapReactiveUserDetailsService;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.csrf.CookieCsrfTokenRepository;
import org.springframework.security.web.server.SecurityWebFilterChain;
import org.springframework.security.web.server.csrf.CookieServerCsrfTokenRepository;
import org.springframework.security.web.server.csrf.ServerCsrfTokenRequestAttributeHandler;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Console in a browser, with Spring Security's token for each change: with Spring MVC and
 * with Spring WebFlux, from the session or from a cookie. Run with {@code -Pbrowser}.
 */
@Tag("browser")
class ConsoleForgeryTests {

	private static final UserDetails ANNA = User.withUsername("anna").password("{noop}secret").roles("ADMIN").build();

	private static Instances redis;

	private static Browser page;

	@BeforeAll
	static void start() {
		page = new Browser();
		redis = new Instances();
		redis.start();
	}

	@AfterAll
	static void stop() {
		if (page != null) {
			page.close();
			redis.close();
		}
	}

	private static void release(LockLease lease) {
		page.type("#locks-tools [name=search]", lease.key());
		page.until("the lock is found", () -> page.lock(lease.key()).isHeld());
		page.click("[aria-label='Release lock " + lease.key() + " by force']");
		page.click("#confirm [value=yes]");
		page.until("the result is announced",
				() -> page.text("#announcement").equals("Released lock ‘" + lease.key() + "’ by force."));
	}

	private static Object statusOfDelete(String key, String headers) {
		return page.asyncScript("""
				fetch('locks?key=' + arguments[0], { method: 'DELETE', headers: JSON.parse(arguments[1]) })
					.then((response) => arguments[2](response.status), (error) => arguments[2](String(error)));
				""", key, headers);
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The console releases a lock, also in a second session; a request without a valid token does not")
	void releases(Security security) {
		try (ConfigurableApplicationContext context = run(security.type, security.application)) {
			LockService locks = context.getBean(LockService.class);
			List<LockLease> leases = List.of("first", "second", "third")
				.stream()
				.map((key) -> locks.acquireAsync(LockRequest.of(key)).join())
				.toList();
			String port = context.getEnvironment().getRequiredProperty("local.server.port");
			page.forget();
			page.signIn(port, "anna", "secret");
			release(leases.get(0));
			assertThat(locks.status("first").isLocked()).isFalse();
			// While the page stays open, its user signs in again.
			page.forget();
			String before = page.openTab();
			page.signIn(port, "anna", "secret");
			page.closeTab(before);
			release(leases.get(1));
			assertThat(locks.status("second").isLocked()).isFalse();
			for (String headers : List.of("{}", "{\"X-CSRF-TOKEN\":\"guessed\",\"X-XSRF-TOKEN\":\"guessed\"}")) {
				assertThat(statusOfDelete("third", headers)).as(headers).isEqualTo(403L);
			}
			assertThat(leases.get(2).isHeld()).isTrue();
			leases.get(2).close();
		}
	}

	@Test
	@DisplayName("The console offers no change to a user with read access, and says why a change is refused")
	void tellsThatAUserMayNot() {
		try (ConfigurableApplicationContext context = run(WebApplicationType.SERVLET, MvcReadOnly.class)) {
			LockLease lease = context.getBean(LockService.class).acquireAsync(LockRequest.of("kept")).join();
			page.forget();
			page.signIn(context.getEnvironment().getRequiredProperty("local.server.port"), "anna", "secret");
			page.until("the lock is shown", () -> page.lock("kept").isHeld());
			assertThat(page.text("#rights")).contains("Whether your user may make them shows when you try.");
			page.click("[aria-label='Release lock kept by force']");
			page.click("#confirm [value=yes]");
			page.until("the reason is announced", () -> page.text("#announcement")
				.equals("Nothing was changed: your user may not change this (403)"));
			assertThat(lease.isHeld()).isTrue();
			lease.close();
		}
	}

	@Test
	@DisplayName("The console says when the session is over, and links to the sign-in page")
	void leadsToTheSignIn() {
		try (ConfigurableApplicationContext context = run(WebApplicationType.SERVLET, Mvc.class)) {
			page.forget();
			page.signIn(context.getEnvironment().getRequiredProperty("local.server.port"), "anna", "secret");
			assertThat(page.isShown("#sign-in")).isFalse();
			page.forget();
			page.until("the result is announced", () -> page.isShown("#sign-in")
					&& page.text("#outage").startsWith("You are not signed in any more. This is the state of "));
			assertThat(page.violations()).isEmpty();
			page.screenshot("console-signed-out", false);
			page.click("#sign-in");
			page.until("the sign-in page is shown", () -> page.isShown("[name=username]"));
		}
	}

	private static ConfigurableApplicationContext run(WebApplicationType type, Class<?> application) {
		return redis.startOther(type, application, "--holdfast.console.enabled=true",
				"--management.endpoints.web.exposure.include=*", "--management.endpoints.access.default=unrestricted");
	}

	enum Security {

		MVC_SESSION(WebApplicationType.SERVLET, Mvc.class),

		MVC_COOKIE(WebApplicationType.SERVLET, MvcCookie.class),

		MVC_SPA(WebApplicationType.SERVLET, MvcSpa.class),

		FLUX_SESSION(WebApplicationType.REACTIVE, Flux.class),

		FLUX_COOKIE(WebApplicationType.REACTIVE, FluxCookie.class),

		FLUX_PLAIN_COOKIE(WebApplicationType.REACTIVE, FluxPlainCookie.class);

		private final WebApplicationType type;

		private final Class<?> application;

		Security(WebApplicationType type, Class<?> application) {
			this.type = type;
			this.application = application;
		}

	}

	@EnableAutoConfiguration
	@EnableWebSecurity
	static class Mvc {

		@Bean
		SecurityFilterChain security(HttpSecurity http) throws Exception {
			return http.authorizeHttpRequests((requests) -> requests.anyRequest().authenticated())
				.formLogin(Customizer.withDefaults())
				.csrf(this::csrf)
				.build();
		}

		void csrf(CsrfConfigurer<HttpSecurity> csrf) {
			// By default in the session.
		}

		@Bean
		InMemoryUserDetailsManager users() {
			return new InMemoryUserDetailsManager(ANNA);
		}

	}

	@EnableAutoConfiguration
	@EnableWebSecurity
	static class MvcCookie extends Mvc {

		@Override
		void csrf(CsrfConfigurer<HttpSecurity> csrf) {
			CookieCsrfTokenRepository cookies = new CookieCsrfTokenRepository();
			cookies.setParameterName("token");
			csrf.csrfTokenRepository(cookies);
		}

	}

	/** Anna has read access only. */
	@EnableAutoConfiguration
	@EnableWebSecurity
	static class MvcReadOnly extends Mvc {

		@Bean
		@Override
		SecurityFilterChain security(HttpSecurity http) throws Exception {
			return http
				.authorizeHttpRequests((requests) -> requests.requestMatchers(HttpMethod.GET)
					.authenticated()
					.anyRequest()
					.hasRole("OPERATOR"))
				.formLogin(Customizer.withDefaults())
				.build();
		}

	}

	@EnableAutoConfiguration
	@EnableWebSecurity
	static class MvcSpa extends Mvc {

		@Override
		void csrf(CsrfConfigurer<HttpSecurity> csrf) {
			csrf.spa();
		}

	}

	@EnableAutoConfiguration
	@EnableWebFluxSecurity
	static class Flux {

		@Bean
		SecurityWebFilterChain security(ServerHttpSecurity http) {
			return http.authorizeExchange((exchanges) -> exchanges.anyExchange().authenticated())
				.formLogin(Customizer.withDefaults())
				.csrf(this::csrf)
				.build();
		}

		void csrf(ServerHttpSecurity.CsrfSpec csrf) {
			// By default in the session.
		}

		@Bean
		MapReactiveUserDetailsService users() {
			return new MapReactiveUserDetailsService(ANNA);
		}

	}

	@EnableAutoConfiguration
	@EnableWebFluxSecurity
	static class FluxCookie extends Flux {

		@Override
		void csrf(ServerHttpSecurity.CsrfSpec csrf) {
			csrf.csrfTokenRepository(new CookieServerCsrfTokenRepository());
		}

	}

	/** For pages that read the cookie themselves. */
	@EnableAutoConfiguration
	@EnableWebFluxSecurity
	static class FluxPlainCookie extends Flux {

		@Override
		void csrf(ServerHttpSecurity.CsrfSpec csrf) {
			csrf.csrfTokenRepository(CookieServerCsrfTokenRepository.withHttpOnlyFalse())
				.csrfTokenRequestHandler(new ServerCsrfTokenRequestAttributeHandler());
		}

	}

}
