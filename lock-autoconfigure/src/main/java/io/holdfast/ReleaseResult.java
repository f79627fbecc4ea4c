package io.holdfast;

/**
 * The result of a release of a {@link Lease}.
 *
 * @since 0.1.0
 */
public enum ReleaseResult {

	/**
	 * The lease was held until the release, as far as is known. Less certain if the store
	 * was not asked, or if the driver repeated the command after a reconnect.
	 */
	RELEASED,

	/**
	 * The lease had been lost before the release. The loss may have become known only by
	 * the release. The release did not affect the next owner.
	 */
	LOST,

	/** The lease had already been released. */
	ALREADY_RELEASED

}
