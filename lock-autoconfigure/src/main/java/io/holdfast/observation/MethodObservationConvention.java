package io.holdfast.observation;

import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.Observation;

/**
 * Convention for the observations of annotated methods. A bean of this type replaces
 * {@link DefaultMethodObservationConvention}, which it may extend. Must be thread-safe.
 *
 * @since 0.1.0
 */
public interface MethodObservationConvention extends GlobalObservationConvention<MethodObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof MethodObservationContext;
	}

}
