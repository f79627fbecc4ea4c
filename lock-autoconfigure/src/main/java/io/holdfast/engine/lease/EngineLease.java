package io.holdfast.engine.lease;

import java.util.List;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.async.LeaseInternals;
import io.holdfast.engine.observe.RequestObservation;
import org.apache.commons.logging.LogFactory;

/**
 * A lease of this engine: of one hold, or of several together.
 */
public interface EngineLease extends Lease, LeaseInternals, RequestObservation.Fenced {

	@Override
	List<Hold> openHolds();

	@Override
	default void close() {
		try {
			release();
		}
		catch (LeaseStoreException ex) {
			LogFactory.getLog(EngineLease.class).warn(ex.getMessage());
		}
	}

	@Override
	default List<Long> fences() {
		return openHolds().stream().map((hold) -> hold.fence).toList();
	}

}
