package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.LeaseEngine;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.InvocationContext;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;
import org.springframework.boot.actuate.endpoint.invoke.ParameterMappingException;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.WebServerNamespace;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ProblemDetail;

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
	 * Create an advisor that answers refused requests with a reason, which the responses
	 * of Spring Boot do not have by default.
	 */
	@Bean
	static OperationInvokerAdvisor holdfastEndpointsAdvisor() {
		return (id, type, parameters, invoker) -> IDS.contains(id) ? (context) -> {
			try {
				if ("".equals(context.getArguments().get("fencingToken"))) {
					// Would become null, with which any grant is released.
					throw new InvalidEndpointRequestException("The parameter 'fencingToken' is empty", null);
				}
				return invoker.invoke(context);
			}
			catch (InvalidEndpointRequestException ex) {
				String reason = (ex instanceof ParameterMappingException mapping) ? reason(mapping)
						: Objects.requireNonNullElse(ex.getReason(), ex.getMessage());
				return refuse(context, WebEndpointResponse.STATUS_BAD_REQUEST,
						new InvalidEndpointRequestException(reason, reason, ex));
			}
			catch (LeaseStoreException ex) {
				// Neither the request nor this instance is at fault.
				return refuse(context, WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE, ex);
			}
		} : invoker;
	}

	/** Return the response to a refused request. Clients of JMX get the exception. */
	private static Object refuse(InvocationContext context, int status, RuntimeException refusal) {
		if (!context.canResolve(WebServerNamespace.class)) {
			throw refusal;
		}
		return new WebEndpointResponse<>(
				ProblemDetail.forStatusAndDetail(HttpStatusCode.valueOf(status), refusal.getMessage()), status);
	}

	private static String reason(ParameterMappingException refusal) {
		return SingleLine.of("The parameter '" + refusal.getParameter().getName() + "' is '" + refusal.getValue())
				+ "', which is not " + allowed(refusal.getParameter().getType());
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
