package io.holdfast;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class KeyCharacterTests {

	@ParameterizedTest
	@ValueSource(strings = { "a\uD800", "\uD83D:x", "\uDE00", "a\uDE00\uD83D" })
	void halfASurrogatePairIsRefusedAsItWouldNotReachTheStore(String key) {
		assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.of(key))
			.withMessageContaining("lock's key has half of a surrogate pair at position");
		assertThatIllegalArgumentException().isThrownBy(() -> SemaphoreRequest.of(key, 1))
			.withMessageContaining("semaphore's key");
	}

	@ParameterizedTest
	@ValueSource(strings = { "a", "\uD83D\uDE00", "x \uD83D\uDE00\uD83D\uDE00 y", "{a}:b" })
	void othersAreNot(String key) {
		assertThat(LockRequest.of(key).key()).isEqualTo(key);
	}

}
