package io.holdfast.observation;

import java.util.List;

import io.holdfast.engine.ObservedRequest;
import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/**
 * The context of the observation of a request: until it is granted or fails or, as
 * another observation, while its lease is held.
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
		// For conventions that have no names.
		setName(observed.getName());
		setContextualName(observed.getContextualName());
	}

	/**
	 * Return which of the observations this is.
	 * @return the observed part
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
	 * @return one for each of the keys, in their order; empty while nothing is granted
	 */
	public List<Long> getFences() {
		return this.fences;
	}

	/**
	 * Return the outcome.
	 * @return the outcome, or {@code null} before it is known
	 */
	public @Nullable LeaseOutcome getOutcome() {
		return this.outcome;
	}

	void settle(LeaseOutcome outcome, List<Long> fences) {
		this.outcome = outcome;
		this.fences = fences;
	}

}
