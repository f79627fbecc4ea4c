package io.holdfast.autoconfigure;

import java.util.Map;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockService;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.SemaphoresEndpoint;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
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
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.ProblemDetail;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.Mockito.mock;

/**
 * The endpoints, and when there are none.
 */
class EndpointsAutoConfigurationTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastEndpointsAutoConfiguration.class))
		.withPropertyValues("holdfast.backend=memory", "management.endpoints.web.exposure.include=*",
				"management.endpoints.jmx.exposure.include=*");

	@Test
	@DisplayName("there are endpoints where they are exposed")
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
	@DisplayName("without Actuator, or any part of it, there are none, and all else works")
	void needsActuator() {
		for (Class<?> missing : new Class<?>[] { Endpoint.class, ConditionalOnAvailableEndpoint.class }) {
			this.runner.withClassLoader(new FilteredClassLoader(missing.getPackageName()))
				.run((context) -> assertThat(context).hasNotFailed()
					.hasSingleBean(LockService.class)
					.doesNotHaveBean(LocksEndpoint.class));
		}
	}

	@Test
	@DisplayName("without Holdfast there are none")
	void needsAnEngine() {
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LocksEndpoint.class));
	}

	@Test
	@DisplayName("of several engines it is the one that would be injected")
	void tellsOfThePrimaryEngine() {
		this.runner.withUserConfiguration(SecondEngine.class).run((context) -> {
			LeaseEngine engine = context.getBean(LeaseEngine.class);
			assertThat(context.getBean(LocksEndpoint.class).locks(null, null).instance().id())
				.isEqualTo(Fleet.of(engine).instance());
		});
	}

	@Test
	@DisplayName("a refused request is answered with its reason, and by JMX with the exception")
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

	@Configuration(proxyBeanMethods = false)
	static class SecondEngine {

		@Bean(defaultCandidate = false)
		LeaseEngine secondEngine() {
			return new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)), EngineSettings.defaults());
		}

		@Bean
		LeaseEngine firstEngine() {
			return new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)), EngineSettings.defaults());
		}

	}

}
