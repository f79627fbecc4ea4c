package io.holdfast.engine.fleet;

import org.jspecify.annotations.Nullable;

/**
 * Query for a page of resources that are held or waited for.
 *
 * @param search a text that the keys contain, ignoring case, or {@code null} for all keys
 * @param state the state to match, or {@code null} for all states
 * @param grantedBefore the time before which locks were granted, as a fencing token in
 * microseconds; {@link Long#MAX_VALUE} for all locks
 * @param order the order
 * @param page the number of the page, from 1
 * @param size the size of a page, at least 1
 */
public record StandingQuery(@Nullable String search, @Nullable State state, long grantedBefore, Order order, int page,
		int size) {

	/**
	 * State of a resource that is of interest to operators.
	 */
	public enum State {

		/** The resource has waiters. */
		CONTENDED,

		/**
		 * Less than half of the longest time to live seen is left, or the holder has no
		 * expiry.
		 */
		NOT_RENEWED,

		/** The holder is a client other than Holdfast. */
		FOREIGN

	}

	/**
	 * Order of a page. Equal resources are sorted by key.
	 */
	public enum Order {

		/** By key. */
		KEY,

		/** Most waiters first. */
		WAITERS,

		/**
		 * Oldest grant first. Grants of unknown age, such as those of foreign clients,
		 * come before, and free resources last.
		 */
		AGE

	}

}
