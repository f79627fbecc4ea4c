package io.holdfast.redis.driver;

import java.util.stream.IntStream;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Pauses between the attempts of a {@link ChannelWatch}.
 */
class ChannelWatchTests {

	@Test
	@DisplayName("A refused subscription is attempted every 5 s to a minute, at a master of a cluster every five minutes")
	void refused() {
		assertThat(pauses(true, false)).startsWith(5_000, 10_000, 20_000, 40_000, 60_000, 60_000).endsWith(60_000);
		assertThat(pauses(true, true)).containsOnly(300_000);
	}

	@Test
	@DisplayName("A failed subscription is attempted every 250 ms to 5 s")
	void failed() {
		assertThat(pauses(false, false)).startsWith(250, 500, 1_000, 2_000, 4_000, 5_000).endsWith(5_000);
		assertThat(pauses(false, true)).isEqualTo(pauses(false, false));
	}

	private static long[] pauses(boolean refused, boolean sharded) {
		return IntStream.rangeClosed(1, 100)
			.mapToLong((failures) -> ChannelWatch.pauseMillis(failures, refused, sharded))
			.toArray();
	}

}
