package io.holdfast.engine.lease;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.engine.observe.RequestObservation;

/**
 * A lease of this engine: of one hold, or of several together.
 */
public interface EngineLease extends Lease, RequestObservation.Fenced {

	/** Return the holds that it is open on: none once it is released. */
	Stream<Hold> open();

	@Override
	default List<Long> fences() {
		return open().map((hold) -> hold.fence).toList();
	}

}
