package io.holdfast.redis;

import java.time.Duration;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What scripts take for their ARGV.
 */
class ArgumentsTests {

	@ParameterizedTest
	@ValueSource(longs = { 0, 1, 9, 10, 99, 100, 30_000, Long.MAX_VALUE, -1, -10, -30_000, Long.MIN_VALUE })
	@DisplayName("a number is its decimal digits")
	void number(long number) {
		assertThat(Arguments.number(number)).asString().isEqualTo(Long.toString(number));
	}

	@Test
	@DisplayName("texts, numbers, flags and times become bytes; bytes stay as they are")
	void anything() {
		byte[] bytes = { 1, 0, -1 };
		byte[][] expected = { RedisKeys.bytes("ä"), RedisKeys.bytes("5"), RedisKeys.bytes("1"), RedisKeys.bytes("0"),
				RedisKeys.bytes("2000"), bytes };
		assertThat(Arguments.of("ä", 5, true, false, Duration.ofSeconds(2), bytes)).isDeepEqualTo(expected);
	}

}
