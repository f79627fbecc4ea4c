package io.holdfast.observation;

import java.util.Locale;
import java.util.stream.Collectors;

import io.holdfast.LockMode;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.observation.HoldfastObservationDocumentation.Tag;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;

/**
 * Default convention for one of the observations in
 * {@link HoldfastObservationDocumentation}. Thread-safe.
 *
 * @since 0.1.0
 */
public class DefaultLeaseObservationConvention implements LeaseObservationConvention {

	private final HoldfastObservationDocumentation observed;

	/**
	 * Create the convention.
	 * @param observed the observation of requests or of leases
	 */
	public DefaultLeaseObservationConvention(HoldfastObservationDocumentation observed) {
		this.observed = observed;
	}

	@Override
	public boolean supportsContext(Observation.Context context) {
		return context instanceof LeaseObservationContext lease && lease.getObserved() == this.observed;
	}

	@Override
	public String getName() {
		return this.observed.getName();
	}

	@Override
	public String getContextualName(LeaseObservationContext context) {
		return this.observed.getContextualName();
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(LeaseObservationContext context) {
		String requestName = context.getRequest().name();
		LeaseOutcome reached = context.getOutcome();
		LockMode mode = context.getRequest().mode();
		KeyValue name = Tag.NAME.withValue((requestName != null) ? requestName : KeyValue.NONE_VALUE);
		KeyValue outcome = Tag.OUTCOME.withValue((reached != null) ? reached.tag() : KeyValue.NONE_VALUE);
		return (mode != null) ? KeyValues.of(name, outcome, Tag.MODE.withValue(mode.name().toLowerCase(Locale.ROOT)))
				: KeyValues.of(name, outcome);
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(LeaseObservationContext context) {
		ObservedRequest request = context.getRequest();
		KeyValues values = KeyValues.of(Tag.KEY.withValue(String.join(",", request.keys())));
		if (request.mode() == null) {
			return values.and(Tag.PERMITS.withValue(String.valueOf(request.permits())));
		}
		return context.getFences().isEmpty() ? values : values.and(Tag.FENCE
			.withValue(context.getFences().stream().map(String::valueOf).collect(Collectors.joining(","))));
	}

}
