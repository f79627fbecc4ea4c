package io.holdfast.engine.lease;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.async.CallerAware;
import io.holdfast.engine.observe.RequestObservation;
import org.apache.commons.logging.LogFactory;

/**
 * A lease of this engine: of one hold, or of several together.
 */
public interface EngineLease extends Lease, CallerAware, RequestObservation.Fenced {

	/** Return the holds that it is open on: none once it is released. */
	Stream<Hold> openHolds();

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
		return openHolds().map((hold) -> hold.fence).toList();
	}

}
