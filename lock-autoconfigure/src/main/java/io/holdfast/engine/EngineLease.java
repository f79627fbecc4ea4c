package io.holdfast.engine;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

import io.holdfast.Lease;
import io.holdfast.async.LeaseInternals;

/**
 * A lease of this engine: of one hold, or of several together.
 */
interface EngineLease extends Lease, LeaseInternals {

	/** Return its holds, one for each key: none once it is released. */
	List<Hold> openHolds();

	@Override
	default Map<String, Hold> grants() {
		return openHolds().stream().collect(Collectors.toMap((hold) -> hold.resource().key(), Function.identity()));
	}

	/** Return the fence of each of its holds. */
	default List<Long> fences() {
		return openHolds().stream().map((hold) -> hold.fence).toList();
	}

}
