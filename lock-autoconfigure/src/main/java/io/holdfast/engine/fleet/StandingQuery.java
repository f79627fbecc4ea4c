package io.holdfast.engine.fleet;

import org.jspecify.annotations.Nullable;

/**
 * Query for a page of all that is held or waited for.
 *
 * @param search text that keys contain, in upper or lower case, or {@code null} for all
 * @param state the state to match, or {@code null} for all
 * @param grantedBefore the fencing token, which is a time in microseconds, that locks are
 * to be older than; {@link Long#MAX_VALUE} for all
 * @param order the order
 * @param page which page, from 1
 * @param size how many a page has, at least 1
 */
public record StandingQuery(@Nullable String search, @Nullable State state, long grantedBefore, Order order, int page,
		int size) {

	/**
	 * Conditions that are of interest to an operator.
	 */
	public enum State {

		/** There are waiters. */
		CONTENDED,

		/**
		 * Less than half of the longest time to live that was seen is left, or it never
		 * ends.
		 */
		NOT_RENEWED,

		/** The holder is another program. */
		FOREIGN

	}

	/**
	 * The orders; in each, equals are in the order of keys.
	 */
	public enum Order {

		/** By key. */
		KEY,

		/** The one with most waiters first. */
		WAITERS,

		/**
		 * The lock that was granted first, after those of which that is not known: they
		 * may be older, as foreign ones are. Free ones come last.
		 */
		AGE

	}

}
