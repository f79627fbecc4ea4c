package io.holdfast.autoconfigure.console;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.context.annotation.Bean;

/**
 * Configuration of the context that serves Actuator, which may be on a port of its own,
 * by Spring WebFlux.
 */
@ManagementContextConfiguration(proxyBeanMethods = false)
@ConditionalOnWebApplication(type = Type.REACTIVE)
@ConditionalOnBooleanProperty("holdfast.console.enabled")
final class ConsoleReactiveConfiguration {

	@Bean
	ConsoleWebFilter holdfastConsoleWebFilter(ObjectProvider<PathMappedEndpoints> endpoints) {
		return new ConsoleWebFilter(() -> {
			PathMappedEndpoints all = endpoints.getIfAvailable();
			return (all != null) ? all.getPath(EndpointId.of("holdfast")) : null;
		});
	}

}
