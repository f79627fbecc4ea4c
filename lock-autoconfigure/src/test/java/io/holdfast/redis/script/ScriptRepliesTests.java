package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.key.RedisStoreOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * What the replies of scripts are read as.
 */
class ScriptRepliesTests {

	@ParameterizedTest
	@ValueSource(longs = { 0, 7, 1024, 1_795_000_000_000_000L, -1, Long.MAX_VALUE - 1, Long.MAX_VALUE, Long.MIN_VALUE })
	void aTextOfDigitsIsANumber(long number) {
		assertThat(ScriptReplies.number(bytes(Long.toString(number)))).isEqualTo(number);
		assertThat(ScriptReplies.number(number)).isEqualTo(number);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "-", "12x", "1 2", "9223372036854775808", "99999999999999999999" })
	void whatIsNoneIsRefused(String text) {
		assertThatExceptionOfType(NumberFormatException.class).isThrownBy(() -> ScriptReplies.number(bytes(text)));
	}

	@Test
	void neitherNumberNorTextIsRefused() {
		assertThatIllegalStateException().isThrownBy(() -> ScriptReplies.number(null));
	}

	@Test
	void whatWasNotRenewedIsAmongThoseThatWere() {
		assertThat(ScriptReplies.kept(List.of(3L), 3)).containsExactly(true, true, true);
		assertThat(ScriptReplies.kept(List.of(3L, 1L, 3L), 3)).containsExactly(false, true, false);
		assertThat(ScriptReplies.kept(List.of(0L), 0)).isEmpty();
	}

	@Test
	void anAnswerForOtherRenewalsIsRefused() {
		assertThatIllegalStateException().isThrownBy(() -> ScriptReplies.kept(List.of(2L), 3))
			.withMessageContaining("3");
	}

	@Test
	void aNumberAloneIsTheFenceOfAGrantForTheWholeLease() {
		Resource lock = new Resource(Kind.LOCK, "k");
		ScriptReplies replies = new ScriptReplies(RedisStoreOptions.defaults());
		assertThat(replies.acquired(lock, List.of(7L), 500L)).isEqualTo(new Granted(7, 500));
		assertThat(replies.acquired(lock, List.of(1L, 7L, 400L), 500L)).isEqualTo(new Granted(7, 400));
	}

	@Test
	void whatWasReadBeforeTheCommandIsWrittenAgainDoesNotCount() {
		ScriptReply<Object> reply = new ScriptReply<>();
		reply.multi(2);
		reply.set(1);
		reply.clear();
		reply.set(7);
		assertThat(reply.elements()).containsExactly(7L);
		reply.clear();
		reply.multi(2);
		reply.set(1);
		reply.set(2);
		assertThat(reply.elements()).containsExactly(1L, 2L);
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.US_ASCII);
	}

}
