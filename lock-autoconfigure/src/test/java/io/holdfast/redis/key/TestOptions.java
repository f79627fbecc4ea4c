package io.holdfast.redis.key;

import java.time.Duration;

/**
 * Options of stores in tests.
 */
public final class TestOptions {

	private TestOptions() {
	}

	/**
	 * Return the options with the properties' defaults.
	 */
	public static RedisStoreOptions defaults() {
		return new RedisStoreOptions("lock:", "semaphore:", "holdfast:wake:", null, Duration.ofHours(24),
				Duration.ofSeconds(5), false, "holdfast:fleet", null, null);
	}

}
