package io.holdfast.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * Names and tags the observations of requests, and of leases. A bean of this type takes
 * the place of {@link DefaultLeaseObservationConvention}, which it may extend, for the
 * contexts that it {@linkplain #supportsContext supports}. Thread-safe.
 *
 * @since 0.1.0
 */
public interface LeaseObservationConvention extends ObservationConvention<LeaseObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof LeaseObservationContext;
	}

}
