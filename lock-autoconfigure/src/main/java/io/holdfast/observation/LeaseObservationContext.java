package io.holdfast.observation;

import java.util.List;

import io.holdfast.engine.ObservedRequest;
import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/**
 * Context of the observation of a request, or of the observation of its lease.
 *
 * @since 0.1.0
 */
public final class LeaseObservationContext extends Observation.Context {

	private final HoldfastObservationDocumentation observed;

	private final ObservedRequest request;

	private volatile List<Long> fences;

	private volatile @Nullable LeaseOutcome outcome;

	LeaseObservationContext(HoldfastObservationDocumentation observed, ObservedRequest request, List<Long> fences) {
		this.observed = observed;
		this.request = request;
		this.fences = fences;
		// For conventions without names.
		setName(observed.getName());
		setContextualName(observed.getContextualName());
	}

	/**
	 * Return the kind of observation.
	 * @return the kind of observation
	 */
	public HoldfastObservationDocumentation getObserved() {
		return this.observed;
	}

	/**
	 * Return the request.
	 * @return the request
	 */
	public ObservedRequest getRequest() {
		return this.request;
	}

	/**
	 * Return the fencing tokens of the lease.
	 * @return one token for each key, in the order of the keys; empty before the grant
	 */
	public List<Long> getFences() {
		return this.fences;
	}

	/**
	 * Return the outcome.
	 * @return the outcome, or {@code null} before the end
	 */
	public @Nullable LeaseOutcome getOutcome() {
		return this.outcome;
	}

	void settle(LeaseOutcome outcome, List<Long> fences) {
		this.outcome = outcome;
		this.fences = fences;
	}

}
