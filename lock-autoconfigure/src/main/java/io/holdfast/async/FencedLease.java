package io.holdfast.async;

import org.jspecify.annotations.Nullable;

/**
 * A lease of locks as fence tables see it. Thread-safe.
 */
public interface FencedLease {

	/**
	 * Return the name of one of the keys in fence tables. Names of different engines
	 * differ, as their tokens cannot be compared.
	 */
	String fenceName(String key);

	/**
	 * End the lease by loss, as a database has refused a transaction under it.
	 * @param why the reason for operators, in words
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
