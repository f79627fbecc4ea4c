package io.holdfast.autoconfigure;

import java.util.Set;

import io.holdfast.LockService;
import io.holdfast.SemaphoreService;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.analyzer.AbstractInjectionFailureAnalyzer;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

/**
 * Failure analyzer for a missing service of Holdfast.
 */
@Order(0)
final class MissingServiceFailureAnalyzer extends AbstractInjectionFailureAnalyzer<NoSuchBeanDefinitionException> {

	/** Remedy, also used for annotated methods. */
	static final String CURE = "Holdfast defines one if there is a RedisConnectionFactory bean (add "
			+ "spring-boot-starter-data-redis; of several, mark one as @Primary), or with holdfast.backend=memory, "
			+ "which needs no Redis, but whose locks exclude only threads of this JVM";

	private static final Set<Class<?>> SERVICES = Set.of(LockService.class, SemaphoreService.class,
			ReactiveLockService.class, ReactiveSemaphoreService.class);

	private final ListableBeanFactory beanFactory;

	private final Environment environment;

	MissingServiceFailureAnalyzer(BeanFactory beanFactory, Environment environment) {
		this.beanFactory = (ListableBeanFactory) beanFactory;
		this.environment = environment;
	}

	@Override
	protected @Nullable FailureAnalysis analyze(Throwable rootFailure, NoSuchBeanDefinitionException cause,
			@Nullable String description) {
		Class<?> type = cause.getBeanType();
		if (type == null || isThere(type)) {
			return null;
		}
		String problem = ((description != null) ? description : "A component") + " required a bean of type '"
				+ type.getName() + "' that could not be found";
		boolean enabled = this.environment.getProperty("holdfast.enabled", Boolean.class, true);
		if (!enabled && (SERVICES.contains(type) || type == LeaseEngineFactory.class)) {
			return new FailureAnalysis(problem + ": holdfast.enabled is false.",
					"Inject an ObjectProvider of it, define a bean of that type, or remove the property.", cause);
		}
		return SERVICES.contains(type) ? new FailureAnalysis(problem + ".", cure() + ".", cause) : null;
	}

	/** Return the remedy. Test slices do not have Holdfast's auto-configuration. */
	private String cure() {
		boolean configured = this.beanFactory.getBeanNamesForType(HoldfastAutoConfiguration.class, false,
				false).length > 0;
		return configured ? CURE
				: "Holdfast's auto-configuration is not part of this context. In the test of a slice, such as @WebMvcTest, "
						+ "add @AutoConfigureHoldfast of lock-starter-test, or replace the service by a @MockitoBean; "
						+ "otherwise, do not exclude it";
	}

	/**
	 * Return whether there is a bean of the type: the failure is then about qualifiers.
	 */
	private boolean isThere(Class<?> type) {
		return BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory, type, true, false).length > 0;
	}

}
