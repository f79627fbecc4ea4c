package io.holdfast.redis.key;

import java.time.Duration;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Locks and semaphores with prefixes that might collide.
 */
class PrefixTests {

	@ParameterizedTest
	@CsvSource(textBlock = """
			'', semaphore:, LOCK, semaphore:x
			'', semaphore:, LOCK, semaphore:
			app:, app:s:, LOCK, s:x
			app:s:, app:, SEMAPHORE, s:x
			""")
	void keysInTheOthersNamespaceAreRefused(String lockPrefix, String semaphorePrefix, Kind kind, String key) {
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> options(lockPrefix, semaphorePrefix).check(new Resource(kind, key)))
			.withMessageContaining("The key '")
			.withMessageContaining("none begins with the other");
	}

	@ParameterizedTest
	@CsvSource(textBlock = """
			'', semaphore:, LOCK, fleet
			'', semaphore:, LOCK, fleet:server
			lock:, '', SEMAPHORE, fleet:report:1
			fl, semaphore:, LOCK, eet:server
			""")
	void keysOfHoldfastsOwnAreRefused(String lockPrefix, String semaphorePrefix, Kind kind, String key) {
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> options(lockPrefix, semaphorePrefix).check(new Resource(kind, key)))
			.withMessageContainingAll("The key 'fleet", "holdfast.fleet.key", "use another key");
	}

	@ParameterizedTest
	@CsvSource(textBlock = """
			lock:, semaphore:, LOCK, fleet:server
			'', semaphore:, LOCK, fleets
			'', semaphore:, LOCK, flee
			lock:, semaphore:, LOCK, semaphore:x
			lock:, semaphore:, SEMAPHORE, lock:x
			'', semaphore:, LOCK, sema
			'', semaphore:, SEMAPHORE, x
			app:s:, app:, LOCK, s:x
			""")
	void othersAreNot(String lockPrefix, String semaphorePrefix, Kind kind, String key) {
		assertThatNoException().isThrownBy(() -> options(lockPrefix, semaphorePrefix).check(new Resource(kind, key)));
	}

	private static RedisStoreOptions options(String lockPrefix, String semaphorePrefix) {
		return new RedisStoreOptions(lockPrefix, semaphorePrefix, "wake:", null, Duration.ofHours(1),
				Duration.ofSeconds(5), false, "fleet", null, null);
	}

}
