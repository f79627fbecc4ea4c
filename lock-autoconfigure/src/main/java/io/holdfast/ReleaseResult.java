package io.holdfast;

/**
 * What a release of a {@link Lease} found.
 */
public enum ReleaseResult {

	/** The lease was held until now. */
	RELEASED,

	/** The lease had been lost before; the next owner, if any, was left alone. */
	LOST,

	/** The lease had been released before. */
	ALREADY_RELEASED

}
