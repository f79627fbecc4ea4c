package io.holdfast.redis;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

import io.holdfast.engine.StoreFailure;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Where the companions of a lock key are.
 */
class RedisKeysTests {

	@ParameterizedTest
	@CsvSource({ "lock:a, {lock:a}:queue", "lock:{a}b, lock:{a}b:queue", "lock:a{b, {lock:a{b}:queue",
			"{a}{b, {a}{b:queue" })
	@DisplayName("companions carry the tag of the lock key, or all of it as their tag")
	void companions(String lock, String queue) {
		assertThat(RedisKeys.of(lock, true).queue()).isEqualTo(queue);
	}

	@ParameterizedTest
	@ValueSource(strings = { "lock:a}", "lock:{}a", "lock:{}{a}", "lock:a}b{c", "lock:a}{" })
	@DisplayName("a key whose companions cannot be placed beside it is refused in a cluster, and only there")
	void refusesInCluster(String lock) {
		assertThatExceptionOfType(StoreFailure.class).isThrownBy(() -> RedisKeys.of(lock, true))
			.withMessageContaining("'" + lock + "'")
			.withMessageContaining("{stock}:SKU0001")
			.matches((failure) -> !failure.isTemporary());
		assertThat(RedisKeys.of(lock, false).queue()).isEqualTo("{" + lock + "}:queue");
	}

	@ParameterizedTest
	@ValueSource(strings = { "{a}:queue", "{a}:fence", "lock:{a}b:fence", "{a}" })
	@DisplayName("a lock key that is, or has, the companion of another one is refused")
	void refusesWhatMeetsOtherCompanions(String lock) {
		for (boolean cluster : new boolean[] { true, false }) {
			assertThatExceptionOfType(StoreFailure.class).isThrownBy(() -> RedisKeys.of(lock, cluster))
				.withMessageContaining("'" + lock + "'")
				.matches((failure) -> !failure.isTemporary());
		}
	}

	@Test
	@DisplayName("no two locks share a key, in a cluster or not, or one of them is refused")
	void shareNoKey() {
		Map<String, String> owners = new HashMap<>();
		String letters = "a{}";
		for (int length = 1; length <= 6; length++) {
			for (int i = 0; i < Math.pow(letters.length(), length); i++) {
				StringBuilder lock = new StringBuilder();
				for (int j = 0, rest = i; j < length; j++, rest /= letters.length()) {
					lock.append(letters.charAt(rest % letters.length()));
				}
				for (String suffix : List.of("", ":queue", ":fence")) {
					claim(owners, lock + suffix);
				}
			}
		}
		assertThat(owners).hasSizeGreaterThan(1000);
	}

	private static void claim(Map<String, String> owners, String lock) {
		RedisKeys keys;
		try {
			keys = RedisKeys.of(lock, true);
		}
		catch (StoreFailure ex) {
			return;
		}
		for (String key : List.of(keys.lock(), keys.queue(), keys.fence())) {
			assertThat(owners.put(key, lock)).as(key + " of " + lock).isNull();
		}
	}

	@Test
	@DisplayName("all keys of a lock are in one slot, whatever braces it has, or it is refused")
	void shareOneSlot() {
		Random random = new Random(42);
		int placed = 0;
		for (int i = 0; i < 20_000; i++) {
			StringBuilder lock = new StringBuilder();
			for (int j = random.nextInt(8); j >= 0; j--) {
				lock.append("ab{}".charAt(random.nextInt(4)));
			}
			RedisKeys keys;
			try {
				keys = RedisKeys.of(lock.toString(), true);
			}
			catch (StoreFailure ex) {
				continue;
			}
			placed++;
			int slot = ClusterSlotHashUtil.calculateSlot(keys.lock());
			assertThat(ClusterSlotHashUtil.calculateSlot(keys.queue())).as(lock.toString()).isEqualTo(slot);
			assertThat(ClusterSlotHashUtil.calculateSlot(keys.fence())).as(lock.toString()).isEqualTo(slot);
		}
		assertThat(placed).isGreaterThan(9_000);
	}

}
