package io.holdfast.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * How observations of annotated methods are named and tagged. A bean of this type takes
 * the place of {@link DefaultMethodObservationConvention}, which it may extend.
 * Thread-safe.
 */
public interface MethodObservationConvention extends ObservationConvention<MethodObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof MethodObservationContext;
	}

}
