package io.holdfast.engine.lease;

import java.util.List;

import io.holdfast.Lease;
import io.holdfast.async.LeaseInternals;
import io.holdfast.engine.observe.RequestObservation;

/**
 * A lease of this engine: of one hold, or of several together.
 */
public interface EngineLease extends Lease, LeaseInternals, RequestObservation.Fenced {

	@Override
	List<Hold> openHolds();

	@Override
	default List<Long> fences() {
		return openHolds().stream().map((hold) -> hold.fence).toList();
	}

}
