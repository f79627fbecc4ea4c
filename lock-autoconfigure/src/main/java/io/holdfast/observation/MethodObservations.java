package io.holdfast.observation;

import java.lang.reflect.Method;

import io.holdfast.aop.MethodObserver;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Observes the calls of annotated methods. The observations of their locks, permits and
 * code are children of the call's observation. Thread-safe.
 */
public final class MethodObservations implements MethodObserver {

	private static final MethodObservationConvention DEFAULT = new DefaultMethodObservationConvention();

	private final ObservationRegistry registry;

	private final ObservationFactory observations;

	/**
	 * Create the observer.
	 * @param registry the registry of observations, and of the user's convention, which
	 * replaces the default convention
	 */
	public MethodObservations(ObservationRegistry registry) {
		this.registry = registry;
		this.observations = new ObservationFactory(registry);
	}

	@Override
	public Observation start(Method method, Class<?> targetClass, @Nullable Observation parent) {
		Observation outer = (parent != null) ? parent : this.registry.getCurrentObservation();
		return this.observations.start(new MethodObservationContext(method, targetClass), DEFAULT, outer, true);
	}

}
