package io.holdfast;

/**
 * The result of a release of a {@link Lease}.
 *
 * @since 0.1.0
 */
public enum ReleaseResult {

	/**
	 * The lease was held until now, as far as is known: the store was not asked, or a
	 * copy of the command may have been answered, as after a reconnect.
	 */
	RELEASED,

	/**
	 * The lease had been lost before, which may not have been known until the store
	 * answered to the release. The next owner, if any, was left alone.
	 */
	LOST,

	/** The lease had been released before. */
	ALREADY_RELEASED

}
