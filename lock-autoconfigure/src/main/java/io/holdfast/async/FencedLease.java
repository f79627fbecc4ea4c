package io.holdfast.async;

import org.jspecify.annotations.Nullable;

/**
 * Lease of locks from the view of fence tables. Thread-safe.
 */
public interface FencedLease {

	/**
	 * Return the name of a key in fence tables. Different engines have different names
	 * for a key, because their tokens are not comparable.
	 */
	String fenceName(String key);

	/**
	 * End the lease by loss, because a database has refused a transaction under it.
	 * @param why the reason, for the log and events
	 * @param message the message for the caller of the code under the lease
	 */
	void refuse(String key, String why, String message);

	/**
	 * Return the message of the first refusal, or {@code null} if no transaction was
	 * refused.
	 */
	@Nullable String refusal();

	/** Note that a transaction under the lease has passed its check. */
	void passed();

	/** Return whether a transaction under the lease has passed its check. */
	boolean hasPassed();

}
