package io.holdfast.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * Convention for the observations of requests and leases. A bean of this type replaces
 * {@link DefaultLeaseObservationConvention}, which it may extend, for the contexts that
 * it {@linkplain #supportsContext supports}. Must be thread-safe.
 *
 * @since 0.1.0
 */
public interface LeaseObservationConvention extends ObservationConvention<LeaseObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof LeaseObservationContext;
	}

}
