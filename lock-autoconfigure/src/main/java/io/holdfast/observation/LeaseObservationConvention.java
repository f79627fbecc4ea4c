package io.holdfast.observation;

import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.Observation;

/**
 * Convention for the observations of requests and leases. A bean of this type replaces
 * {@link DefaultLeaseObservationConvention}, which it may extend, for the contexts that
 * it {@linkplain #supportsContext supports}. Must be thread-safe.
 *
 * @since 0.1.0
 */
public interface LeaseObservationConvention extends GlobalObservationConvention<LeaseObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof LeaseObservationContext;
	}

}
