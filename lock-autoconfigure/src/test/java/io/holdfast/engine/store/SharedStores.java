package io.holdfast.engine.store;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The stores of several instances, which share what they hold: what keeps a contract.
 */
public interface SharedStores {

	/**
	 * Create the store of a further instance.
	 * @param polling whether its waiters poll, as it receives no wake-ups
	 * @return a store that was not started
	 */
	LeaseStore open(boolean polling);

	/**
	 * Wait until the others see that the wake-ups of an instance have no receiver.
	 * @param instance its identifier; its store is closed
	 */
	default void awaitGone(String instance) {
	}

	/**
	 * Let time pass, really or virtually.
	 * @param time how much
	 */
	void elapse(Duration time);

	/**
	 * Let a client other than Holdfast own a key.
	 * @param key the key as users name it
	 * @param value what it writes
	 * @param ttl how long, or {@code null} for no end
	 */
	void putForeign(String key, String value, @Nullable Duration ttl);

}
