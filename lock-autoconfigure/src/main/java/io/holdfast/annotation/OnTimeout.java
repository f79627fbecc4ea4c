package io.holdfast.annotation;

/**
 * Outcome of a call whose lock or permits are not acquired in time.
 *
 * @since 0.1.0
 */
public enum OnTimeout {

	/** The caller gets a {@link io.holdfast.NotAcquiredException}. */
	THROW,

	/**
	 * The method does not run, and the caller gets an empty result: {@code null}, an
	 * empty {@code Optional}, an empty reactive stream, or a future completed with
	 * {@code null} or an empty {@code Optional}. Beware of listeners: a message or event
	 * whose listener is skipped counts as handled, and is lost.
	 */
	SKIP

}
