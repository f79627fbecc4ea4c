package io.holdfast.redis.key;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;

import io.holdfast.engine.store.StoreCommandException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Names of the companions of locks and semaphores.
 */
class RedisKeysTests {

	@ParameterizedTest
	@CsvSource({ "lock:a, {lock:a}:queue", "lock:{a}b, lock:{a}b:queue", "lock:a{b, {lock:a{b}:queue",
			"{a}{b, {a}{b:queue" })
	@DisplayName("Companions carry the tag of the lock key, or the whole key as their tag")
	void companions(String lock, String queue) {
		assertThat(LockKeys.of(lock, true).queue()).isEqualTo(queue);
	}

	@Test
	@DisplayName("A semaphore has four keys")
	void keysOfPermits() {
		assertThat(PermitKeys.of("semaphore:a", true)).isEqualTo(new PermitKeys("{semaphore:a}:holders",
				"{semaphore:a}:queue", "{semaphore:a}:state", "{semaphore:a}:limit"));
		assertThat(PermitKeys.of("semaphore:{a}b", true)).isEqualTo(new PermitKeys("semaphore:{a}b:holders",
				"semaphore:{a}b:queue", "semaphore:{a}b:state", "semaphore:{a}b:limit"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "lock:a}", "lock:{}a", "lock:{}{a}", "lock:a}b{c", "lock:a}{" })
	@DisplayName("A key without room for companions in its slot is refused, in a cluster only")
	void refusesInCluster(String lock) {
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> LockKeys.of(lock, true))
			.withMessageContaining("'" + lock + "'")
			.withMessageContaining("{stock}:SKU0001")
			.matches((failure) -> !failure.isTemporary());
		assertThat(LockKeys.of(lock, false).queue()).isEqualTo("{" + lock + "}:queue");
	}

	@ParameterizedTest
	@ValueSource(strings = { "{a}:queue", "{a}:fence", "lock:{a}b:fence", "{a}", "{a}:seen", "{a}:holders",
			"lock:{a}:state", "{a}:limit", "{a}b}", "{a}}", "}", "}a" })
	@DisplayName("A lock key that is, or has, the companion of another key is refused")
	void refusesWhatMeetsOtherCompanions(String lock) {
		for (boolean cluster : new boolean[] { true, false }) {
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> LockKeys.of(lock, cluster))
				.withMessageContaining("'" + lock + "'")
				.matches((failure) -> !failure.isTemporary());
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> PermitKeys.of(lock, cluster));
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("With a prefix that has a hash tag, a key may end with a brace, and is found by its companions")
	void taggedPrefix(boolean cluster) {
		String prefix = "{app}lock:";
		for (String key : List.of("order:{42}", "42}", "}", "a{b}", "{}")) {
			LockKeys keys = LockKeys.of(prefix, prefix + key, cluster);
			assertThat(keys.queue()).isEqualTo(prefix + key + ":queue");
			assertThat(RedisKeys.keyOf(keys.queue(), ":queue", prefix)).isEqualTo(prefix + key);
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("Two locks, or two semaphores, share no key, or one of both is refused")
	void shareNoKey(boolean cluster) {
		Map<String, String> owners = new HashMap<>();
		Map<String, String> semaphores = new HashMap<>();
		String letters = "a{}";
		for (int length = 1; length <= 6; length++) {
			for (int i = 0; i < Math.pow(letters.length(), length); i++) {
				StringBuilder lock = new StringBuilder();
				for (int j = 0, rest = i; j < length; j++, rest /= letters.length()) {
					lock.append(letters.charAt(rest % letters.length()));
				}
				for (String suffix : List.of("", ":queue", ":fence", ":seen", ":holders", ":state", ":limit")) {
					claim(owners, lock + suffix, (name) -> keysOfLock(name, cluster));
					claim(semaphores, lock + suffix, (name) -> keysOfSemaphore(name, cluster));
				}
			}
		}
		assertThat(owners).hasSizeGreaterThan(1000);
		assertThat(semaphores).hasSizeGreaterThan(1000);
	}

	private static Set<String> keysOfLock(String lock, boolean cluster) {
		LockKeys exclusive = LockKeys.of(lock, cluster);
		return Set.of(exclusive.lock(), exclusive.queue(), exclusive.fence(), exclusive.seen());
	}

	private static Set<String> keysOfSemaphore(String semaphore, boolean cluster) {
		PermitKeys keys = PermitKeys.of(semaphore, cluster);
		return Set.of(keys.holders(), keys.queue(), keys.state(), keys.limit());
	}

	private static void claim(Map<String, String> owners, String name, Function<String, Set<String>> keysOf) {
		Set<String> keys;
		try {
			keys = keysOf.apply(name);
		}
		catch (StoreCommandException ex) {
			return;
		}
		for (String key : keys) {
			assertThat(owners.put(key, name)).as(key + " of " + name).isNull();
		}
	}

	@Test
	@DisplayName("All keys of a lock are in one slot, whatever its braces, or the lock is refused")
	void shareOneSlot() {
		Random random = new Random(42);
		int placed = 0;
		for (int i = 0; i < 20_000; i++) {
			StringBuilder lock = new StringBuilder();
			for (int j = random.nextInt(8); j >= 0; j--) {
				lock.append("ab{}".charAt(random.nextInt(4)));
			}
			Set<String> keys = new HashSet<>();
			try {
				keys.addAll(keysOfLock(lock.toString(), true));
				keys.addAll(keysOfSemaphore(lock.toString(), true));
			}
			catch (StoreCommandException ex) {
				continue;
			}
			placed++;
			int slot = ClusterSlotHashUtil.calculateSlot(lock.toString());
			assertThat(keys).as(lock.toString()).allMatch((key) -> ClusterSlotHashUtil.calculateSlot(key) == slot);
		}
		assertThat(placed).isGreaterThan(9_000);
	}

}
