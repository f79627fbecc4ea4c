package io.holdfast.redis.key;

import java.time.Duration;

/**
 * Options of stores in tests.
 */
public final class TestOptions {

	private TestOptions() {
	}

	/**
	 * Return those that the properties have by default.
	 */
	public static RedisStoreOptions defaults() {
		return new RedisStoreOptions("lock:", "semaphore:", "holdfast:wake:", null, Duration.ofHours(24),
				Duration.ofSeconds(5), false, "holdfast:fleet", null, null);
	}

}
