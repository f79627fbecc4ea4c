package io.holdfast.autoconfigure;

import reactor.core.publisher.Mono;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpHeaders;
import org.springframework.web.server.WebFilter;

/**
 * Configuration of the management context, which may have its own port, for Spring
 * WebFlux.
 */
@ManagementContextConfiguration(proxyBeanMethods = false)
@ConditionalOnWebApplication(type = Type.REACTIVE)
@ConditionalOnBooleanProperty("holdfast.console.enabled")
final class ConsoleReactiveConfiguration {

	private static final String TOKEN = "org.springframework.security.web.server.csrf.CsrfToken";

	/** Create the filter that adds the headers of the console. */
	@Bean
	WebFilter holdfastConsoleWebFilter(ObjectProvider<PathMappedEndpoints> endpoints) {
		return (exchange, chain) -> {
			PathMappedEndpoints mapped = endpoints.getIfAvailable();
			String console = (mapped != null) ? mapped.getPath(EndpointId.of("holdfast")) : null;
			String requestPath = exchange.getRequest().getPath().pathWithinApplication().value();
			if (console == null || !requestPath.equals(console) && !requestPath.startsWith(console + "/")) {
				return chain.filter(exchange);
			}
			HttpHeaders headers = exchange.getResponse().getHeaders();
			ConsoleEndpoint.addHeaders(headers, null);
			Mono<Object> token = exchange.getAttribute(TOKEN);
			return ((token != null) ? token.doOnNext((value) -> ConsoleEndpoint.addHeaders(headers, value)).then()
					: Mono.<Void>empty())
				.then(chain.filter(exchange));
		};
	}

}
