package io.holdfast.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * Names and tags the observations of annotated methods. A bean of this type takes the
 * place of {@link DefaultMethodObservationConvention}, which it may extend. Thread-safe.
 *
 * @since 0.1.0
 */
public interface MethodObservationConvention extends ObservationConvention<MethodObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof MethodObservationContext;
	}

}
