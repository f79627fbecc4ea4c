package io.holdfast.redis.script;

import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.key.RedisKeys;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What scripts take for their ARGV.
 */
class ScriptArgvTests {

	@ParameterizedTest
	@ValueSource(longs = { 0, 1, 9, 10, 99, 100, 30_000, Long.MAX_VALUE, -1, -10, -30_000, Long.MIN_VALUE })
	@DisplayName("a number is its decimal digits")
	void number(long number) {
		assertThat(ScriptArgv.number(number)).asString().isEqualTo(Long.toString(number));
	}

	@Test
	@DisplayName("texts, numbers, flags and times become bytes; bytes stay as they are")
	void anything() {
		byte[] bytes = { 1, 0, -1 };
		byte[][] expected = { RedisKeys.bytes("ä"), RedisKeys.bytes("5"), RedisKeys.bytes("1"), RedisKeys.bytes("0"),
				RedisKeys.bytes("2000"), bytes };
		assertThat(ScriptArgv.of("ä", 5, true, false, Duration.ofSeconds(2), bytes)).isDeepEqualTo(expected);
	}

	@Test
	@DisplayName("of renewals that are to last equally long, that is said once")
	void renewals() {
		Resource lock = new Resource(Kind.LOCK, "k");
		List<Renewal> alike = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, 30));
		assertThat(ScriptArgv.ofRenewals(alike, false)).isDeepEqualTo(ScriptArgv.of("a", "b", 30));
		assertThat(ScriptArgv.ofRenewals(alike, true)).isDeepEqualTo(ScriptArgv.of("a", "b", 1, 2, 30));
		List<Renewal> others = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, -30));
		assertThat(ScriptArgv.ofRenewals(others, false)).isDeepEqualTo(ScriptArgv.of("a", "b", 30, -30));
		assertThat(ScriptArgv.ofRenewals(others, true)).isDeepEqualTo(ScriptArgv.of("a", "b", 1, 2, 30, -30));
		assertThat(ScriptArgv.ofRenewals(alike.subList(0, 1), true)).isDeepEqualTo(ScriptArgv.of("a", 1, 30));
		assertThat(ScriptArgv.ofRenewals(List.of(), true)).isEmpty();
	}

}
