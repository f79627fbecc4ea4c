package io.holdfast.engine;

import java.util.concurrent.CompletionException;

import io.holdfast.engine.store.StoreCommandException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of {@link EngineExceptions}.
 */
class EngineExceptionsTests {

	@Test
	@DisplayName("The text of an error omits the class of a CompletionException around its cause")
	void inWords() {
		assertThat(EngineExceptions.text(new CompletionException(new StoreCommandException("trouble", true, null))))
			.isEqualTo("trouble");
		assertThat(EngineExceptions.text(new IllegalStateException())).isEqualTo("java.lang.IllegalStateException");
	}

}
