package io.holdfast.redis;

import io.holdfast.redis.driver.ClusterMasters;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Positions of a walk over all keys.
 */
class ScanCursorTests {

	@ParameterizedTest
	@ValueSource(strings = { "16384-0", "99999-0", "0-18446744073709551616", "0-99999999999999999999",
			"0-100000000000000000000", "000000-0", "-1-0", "0--1", "0-", "٣-٤" })
	@DisplayName("A cursor beyond all slots or positions is refused, also in a cluster")
	void refuses(String text) {
		assertThatIllegalArgumentException().isThrownBy(() -> ScanCursor.of(text, ClusterMasters.LAST_SLOT))
			.withMessageStartingWith("The cursor does not come from a page of this list");
	}

	@Test
	@DisplayName("Without a cluster there is only slot 0")
	void refusesSlotsWithoutCluster() {
		ScanCursor.of("0-5", 0);
		assertThatIllegalArgumentException().isThrownBy(() -> ScanCursor.of("1-5", 0));
	}

	@Test
	@DisplayName("The last slot and the highest position are accepted")
	void takesAllThatThereIs() {
		String text = "16383-18446744073709551615";
		assertThat(ScanCursor.of(text, ClusterMasters.LAST_SLOT))
			.isEqualTo(new ScanCursor(16_383, "18446744073709551615"));
	}

	@ParameterizedTest
	@ValueSource(ints = { 0, 1, 5461, 16_383 })
	@DisplayName("Each slot has a key")
	void findsKeys(int slot) {
		assertThat(ClusterSlotHashUtil.calculateSlot(ClusterMasters.keyAt(slot, "lock:"))).isEqualTo(slot);
	}

}
