package io.holdfast.engine.store;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * Stores of several instances with shared data, for the contracts.
 */
public interface SharedStores {

	/**
	 * Create the store of a further instance.
	 * @param polling whether the instance polls, without wake-ups
	 * @return the store, before its start
	 */
	LeaseStore open(boolean polling);

	/**
	 * Wait until the store detects the absence of an instance.
	 * @param instance the id of the instance, whose store is closed
	 */
	default void awaitAbsence(String instance) {
	}

	/**
	 * Let real or virtual time pass.
	 * @param time the duration
	 */
	void elapse(Duration time);

	/**
	 * Let a foreign client own a key.
	 * @param key the key as named by users
	 * @param value the value of the client
	 * @param ttl the duration, or {@code null} for no end
	 */
	void putForeign(String key, String value, @Nullable Duration ttl);

}
