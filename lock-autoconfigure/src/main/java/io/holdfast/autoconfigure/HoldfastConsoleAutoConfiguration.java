package io.holdfast.autoconfigure;

import io.holdfast.engine.LeaseEngine;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.EndpointAccessResolver;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;
import org.springframework.web.context.request.RequestAttributes;

/**
 * {@link AutoConfiguration Auto-configuration} of the console, which is off by default.
 */
@AutoConfiguration(after = HoldfastEndpointsAutoConfiguration.class)
@ConditionalOnClass({ Endpoint.class, ConditionalOnAvailableEndpoint.class, RequestAttributes.class })
@ConditionalOnBooleanProperty("holdfast.console.enabled")
@ConditionalOnWebApplication
@ConditionalOnBean(LeaseEngine.class)
@Lazy(false)
public final class HoldfastConsoleAutoConfiguration {

	private static final Log logger = LogFactory.getLog(HoldfastConsoleAutoConfiguration.class);

	HoldfastConsoleAutoConfiguration(ObjectProvider<ConsoleEndpoint> endpoint) {
		if (endpoint.stream().findAny().isEmpty()) {
			logger.warn("There is no console although holdfast.console.enabled=true: add 'holdfast' to "
					+ "management.endpoints.web.exposure.include, beside 'locks' and 'semaphores'");
		}
	}

	@Bean
	@ConditionalOnAvailableEndpoint
	@ConditionalOnMissingBean
	static ConsoleEndpoint holdfastConsoleEndpoint(ObjectProvider<PathMappedEndpoints> endpoints,
			ObjectProvider<EndpointAccessResolver> access) {
		return new ConsoleEndpoint(endpoints, access);
	}

}
