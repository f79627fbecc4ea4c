package io.holdfast.redis.driver;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

class ScriptReplyTests {

	@ParameterizedTest
	@ValueSource(longs = { 0, 7, 1024, 1_795_000_000_000_000L, -1, Long.MAX_VALUE - 1, Long.MAX_VALUE, Long.MIN_VALUE })
	void aTextOfDigitsIsANumber(long number) {
		ScriptReply reply = TestReplies.of(List.of(bytes(Long.toString(number)), number));
		assertThat(reply.number(0)).isEqualTo(number);
		assertThat(reply.number(1)).isEqualTo(number);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "-", "12x", "1 2", "9223372036854775808", "99999999999999999999" })
	void whatIsNoneIsRefused(String text) {
		assertThatExceptionOfType(NumberFormatException.class)
			.isThrownBy(() -> TestReplies.of(List.of(bytes(text))).number(0));
	}

	@Test
	void neitherNumberNorTextIsRefused() {
		ScriptReply reply = TestReplies.of(Collections.singletonList(null));
		assertThat(reply.isNull(0)).isTrue();
		assertThatIllegalStateException().isThrownBy(() -> reply.number(0));
	}

	@Test
	void whatWasReadBeforeTheCommandIsWrittenAgainDoesNotCount() {
		ScriptReply reply = new ScriptReply();
		reply.multi(2);
		reply.set(1);
		reply.repeat();
		reply.set(7);
		assertThat(reply.size()).isEqualTo(1);
		assertThat(reply.number(0)).isEqualTo(7);
		reply.repeat();
		reply.multi(2);
		reply.set(1);
		reply.set(2);
		assertThat(reply.size()).isEqualTo(2);
		assertThat(reply.number(1)).isEqualTo(2);
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.US_ASCII);
	}

}
