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
 */
final class ConsoleWebFilter implements WebFilter {

	private static final String TOKEN = "org.springframework.security.web.server.csrf.CsrfToken";

	private final Supplier<@Nullable String> path;

	/**
	 * Create a filter; the path is that of the console, {@code null} if there is none.
	 */
	ConsoleWebFilter(Supplier<@Nullable String> path) {
		this.path = path;
	}

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
