package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;

import io.holdfast.redis.key.RedisStoreOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class StoreScriptsTests {

	private final Locale locale = Locale.getDefault();

	@AfterEach
	void tearDown() {
		Locale.setDefault(this.locale);
	}

	@Test
	@DisplayName("A prefix is written as the numbers of its bytes, in ASCII digits in any locale")
	void digits() {
		Locale.setDefault(Locale.forLanguageTag("ar-EG"));
		RedisStoreOptions options = new RedisStoreOptions("lock:", "semaphore:", "tür:", null, Duration.ofHours(24),
				Duration.ofSeconds(5), false, "fleet", null, null);
		assertThat(new String(StoreScripts.of(options, false, null).release().text(), StandardCharsets.UTF_8))
			.contains("'t\\195\\188r:'");
	}

}
