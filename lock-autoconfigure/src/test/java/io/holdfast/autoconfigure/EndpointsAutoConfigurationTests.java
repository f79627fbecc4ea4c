package io.holdfast.autoconfigure;

import java.util.Map;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockService;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.InvocationContext;
import org.springframework.boot.actuate.endpoint.OperationArgumentResolver;
import org.springframework.boot.actuate.endpoint.OperationType;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvoker;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.WebServerNamespace;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.http.ProblemDetail;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.Mockito.mock;

/**
 * Endpoints, and conditions without endpoints.
 */
class EndpointsAutoConfigurationTests {

	private final ApplicationContextRunner runner = TestApplication.runner(HoldfastEndpointsAutoConfiguration.class)
		.withPropertyValues("management.endpoints.web.exposure.include=*",
				"management.endpoints.jmx.exposure.include=*");

	@Test
	@DisplayName("Exposed endpoints exist")
	void givesEndpoints() {
		this.runner.run((context) -> assertThat(context).hasSingleBean(LocksEndpoint.class)
			.hasSingleBean(SemaphoresEndpoint.class));
		this.runner.withPropertyValues("management.endpoint.locks.access=NONE")
			.run((context) -> assertThat(context).doesNotHaveBean(LocksEndpoint.class)
				.hasSingleBean(SemaphoresEndpoint.class));
		this.runner
			.withPropertyValues("management.endpoints.web.exposure.include=health",
					"management.endpoints.jmx.exposure.include=health")
			.run((context) -> assertThat(context).doesNotHaveBean(LocksEndpoint.class)
				.doesNotHaveBean(SemaphoresEndpoint.class));
	}

	@Test
	@DisplayName("Without Actuator, or any part of it, there are no endpoints, and the locks work")
	void needsActuator() {
		for (Class<?> missing : new Class<?>[] { Endpoint.class, ConditionalOnAvailableEndpoint.class }) {
			this.runner.withClassLoader(new FilteredClassLoader(missing.getPackageName()))
				.run((context) -> assertThat(context).hasNotFailed()
					.hasSingleBean(LockService.class)
					.doesNotHaveBean(LocksEndpoint.class));
		}
	}

	@Test
	@DisplayName("Without Holdfast there are no endpoints")
	void needsAnEngine() {
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LocksEndpoint.class));
	}

	@Test
	@DisplayName("Of several engines, the endpoints use the primary one")
	void tellsOfThePrimaryEngine() {
		this.runner.withUserConfiguration(AnotherEngine.class).run((context) -> {
			LeaseEngine engine = context.getBean("holdfastLeaseEngine", LeaseEngine.class);
			assertThat(context.getBean(LocksEndpoint.class).locks(null, null).instance().id())
				.isEqualTo(Fleet.of(engine).instance());
		});
	}

	@Test
	@DisplayName("A refused request is answered with its reason, and over JMX with the exception")
	void tellsTheReason() {
		assertRefused(new InvalidEndpointRequestException("refused", "reason"), 400, "reason");
		assertRefused(new LeaseStoreException("a", "no Redis", null), 503, "no Redis");
	}

	private static void assertRefused(RuntimeException refusal, int status, String reason) {
		OperationInvoker invoker = HoldfastEndpointsAutoConfiguration.holdfastEndpointsAdvisor()
			.apply(EndpointId.of("locks"), OperationType.READ, mock(), (context) -> {
				throw refusal;
			});
		InvocationContext jmx = new InvocationContext(SecurityContext.NONE, Map.of());
		assertThatExceptionOfType(refusal.getClass()).isThrownBy(() -> invoker.invoke(jmx)).withMessage(reason);
		InvocationContext web = new InvocationContext(SecurityContext.NONE, Map.of(),
				OperationArgumentResolver.of(WebServerNamespace.class, () -> WebServerNamespace.SERVER));
		assertThat(invoker.invoke(web)).isInstanceOfSatisfying(WebEndpointResponse.class, (response) -> {
			assertThat(response.getStatus()).isEqualTo(status);
			assertThat(response.getBody()).isInstanceOfSatisfying(ProblemDetail.class,
					(problem) -> assertThat(problem.getDetail()).isEqualTo(reason));
		});
	}

	@Test
	@DisplayName("An empty fencing token is refused, as without one, any grant would be released")
	void emptyToken() {
		OperationInvoker invoker = HoldfastEndpointsAutoConfiguration.holdfastEndpointsAdvisor()
			.apply(EndpointId.of("locks"), OperationType.DELETE, mock(), (context) -> {
				throw new AssertionError("Released");
			});
		InvocationContext jmx = new InvocationContext(SecurityContext.NONE, Map.of("key", "a", "fencingToken", ""));
		assertThatExceptionOfType(InvalidEndpointRequestException.class).isThrownBy(() -> invoker.invoke(jmx))
			.withMessageContaining("'fencingToken' is empty");
	}

}
