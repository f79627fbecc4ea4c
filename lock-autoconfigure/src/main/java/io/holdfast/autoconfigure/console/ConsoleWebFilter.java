package io.holdfast.autoconfigure.console;

import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

import org.springframework.http.HttpHeaders;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;

/**
 * Filter that adds the headers of the console where Spring WebFlux serves it.
 *
 * @param path gives the path of the console, {@code null} if there is none
 */
record ConsoleWebFilter(Supplier<@Nullable String> path) implements WebFilter {

	private static final String TOKEN = "org.springframework.security.web.server.csrf.CsrfToken";

	@Override
	public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
		String console = this.path.get();
		String asked = exchange.getRequest().getPath().pathWithinApplication().value();
		if (console == null || !asked.equals(console) && !asked.startsWith(console + "/")) {
			return chain.filter(exchange);
		}
		HttpHeaders headers = exchange.getResponse().getHeaders();
		ConsoleHeaders.add(headers, null);
		Mono<Object> token = exchange.getAttribute(TOKEN);
		return ((token != null) ? token.doOnNext((value) -> ConsoleHeaders.add(headers, value)).then()
				: Mono.<Void>empty())
			.then(chain.filter(exchange));
	}

}
