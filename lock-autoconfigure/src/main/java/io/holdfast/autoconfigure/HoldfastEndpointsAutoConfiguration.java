package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.LeaseEngine;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;
import org.springframework.boot.actuate.endpoint.invoke.ParameterMappingException;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * {@link AutoConfiguration Auto-configuration} of the endpoints {@code locks} and
 * {@code semaphores}, for the only or primary engine.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({ Endpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnSingleCandidate(LeaseEngine.class)
public final class HoldfastEndpointsAutoConfiguration {

	private static final Set<EndpointId> IDS = Set.of(EndpointId.of("locks"), EndpointId.of("semaphores"));

	@Bean
	@ConditionalOnAvailableEndpoint
	@ConditionalOnMissingBean
	LocksEndpoint holdfastLocksEndpoint(LeaseEngine engine) {
		return new LocksEndpoint(engine);
	}

	@Bean
	@ConditionalOnAvailableEndpoint
	@ConditionalOnMissingBean
	SemaphoresEndpoint holdfastSemaphoresEndpoint(LeaseEngine engine) {
		return new SemaphoresEndpoint(engine);
	}

	/**
	 * Create an advisor that adds the name of a refused parameter to the response, which
	 * Spring Boot does not.
	 */
	@Bean
	static OperationInvokerAdvisor holdfastEndpointsAdvisor() {
		return (id, type, parameters, invoker) -> IDS.contains(id) ? (context) -> {
			try {
				return invoker.invoke(context);
			}
			catch (ParameterMappingException ex) {
				String reason = SingleLine
					.of("The parameter '" + ex.getParameter().getName() + "' is '" + ex.getValue()) + "', which is not "
						+ allowed(ex.getParameter().getType());
				throw new InvalidEndpointRequestException(reason, reason, ex);
			}
		} : invoker;
	}

	private static String allowed(Class<?> type) {
		if (type.isEnum()) {
			return Stream.of(type.getEnumConstants())
				.map((value) -> ((Enum<?>) value).name().toLowerCase(Locale.ROOT).replace('_', '-'))
				.collect(Collectors.joining(", ", "one of ", ""));
		}
		return (type == Duration.class) ? "a time such as 30s or 5m"
				: (type == Boolean.class) ? "true or false" : "a whole number in the range of " + type.getSimpleName();
	}

}
