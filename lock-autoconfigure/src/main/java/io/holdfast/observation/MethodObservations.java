package io.holdfast.observation;

import java.lang.reflect.Method;

import io.holdfast.aop.MethodObserver;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Has calls of annotated methods observed: the observations of their locks and permits,
 * and of their code, are its children. Thread-safe.
 */
public final class MethodObservations implements MethodObserver {

	private static final MethodObservationConvention DEFAULT = new DefaultMethodObservationConvention();

	private final ObservationRegistry registry;

	private final Children children;

	private final @Nullable ObservationConvention<MethodObservationContext> convention;

	/**
	 * Create the observer.
	 * @param registry where observations go
	 * @param convention how they are named and tagged; {@code null} for the default
	 */
	public MethodObservations(ObservationRegistry registry, @Nullable MethodObservationConvention convention) {
		this.registry = registry;
		this.children = new Children(registry);
		this.convention = GuardedConvention.of(convention, DEFAULT);
	}

	@Override
	public Observation start(Method method, Class<?> targetClass, @Nullable Observation parent) {
		MethodObservationContext context = new MethodObservationContext(method, targetClass);
		Observation outer = (parent != null) ? parent : this.registry.getCurrentObservation();
		return this.children.start(outer, true,
				() -> Observation.createNotStarted(this.convention, DEFAULT, () -> context, this.registry));
	}

}
