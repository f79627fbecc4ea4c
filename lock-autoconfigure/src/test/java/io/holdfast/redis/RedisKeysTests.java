package io.holdfast.redis;

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
		assertThat(placed).isGreaterThan(10_000);
	}

}
