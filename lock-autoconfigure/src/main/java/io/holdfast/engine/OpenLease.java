package io.holdfast.engine;

import java.util.stream.Stream;

import io.holdfast.Lease;

/**
 * A lease of this engine: of one hold, or of several together.
 */
interface OpenLease extends Lease {

	/** The holds that it is open on: none once it is released. */
	Stream<Hold> open();

}
