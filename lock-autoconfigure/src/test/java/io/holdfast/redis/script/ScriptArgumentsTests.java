package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.key.RedisKeys;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What is sent to Redis for a script.
 */
class ScriptArgumentsTests {

	private final byte[][] keys = RedisKeys.bytes("lock:ä", "second");

	private final byte[][] args = RedisKeys.bytes("secret token", "", "x".repeat(12_345));

	private final ScriptArguments arguments = new ScriptArguments(Script.INSPECT.digest(), this.keys, this.args);

	@Test
	@DisplayName("what is sent is what the driver would send")
	void sameAsTheDriver() {
		CommandArgs<byte[], byte[]> usual = new CommandArgs<>(ByteArrayCodec.INSTANCE).add(Script.INSPECT.digest())
			.add(2)
			.addKeys(this.keys)
			.addValues(this.args);
		assertThat(sent(this.arguments)).isEqualTo(sent(usual));
		assertThat(this.arguments.getFirstEncodedKey()).isEqualTo(usual.getFirstEncodedKey());
		assertThat(new ScriptArguments(Script.PING.digest(), new byte[0][], this.args).getFirstEncodedKey()).isNull();
	}

	@Test
	@DisplayName("a command that is written without the driver's own is the same as the driver's")
	void sameCommand() {
		ByteBuf buffer = Unpooled.buffer();
		ScriptArguments.writeCommand(buffer, Script.INSPECT.digest(), this.keys, this.args);
		assertThat(buffer.toString(StandardCharsets.UTF_8)).isEqualTo(sent(this.arguments));
	}

	@ParameterizedTest
	@ValueSource(longs = { 0, 1, 9, 10, 99, 100, 30_000, Long.MAX_VALUE, -1, -10, -30_000, Long.MIN_VALUE })
	@DisplayName("a number is written as its decimal digits")
	void number(long number) {
		assertThat(sentAs(number)).isEqualTo(sentAs(Long.toString(number)));
	}

	@Test
	@DisplayName("texts, flags and times are written as their bytes; bytes as they are")
	void anything() {
		String bytes = "\u0001\u0000ä";
		assertThat(sentAs("ä", 5, true, false, Duration.ofSeconds(2), RedisKeys.bytes(bytes)))
			.isEqualTo(sentAs((Object[]) RedisKeys.bytes("ä", "5", "1", "0", "2000", bytes)));
	}

	@Test
	@DisplayName("what was given up is written with no script, and with as many arguments")
	void givenUp() {
		ScriptArguments givenUp = new ScriptArguments(Script.INSPECT.digest(), this.keys, this.args, () -> false);
		CommandArgs<byte[], byte[]> nothing = new CommandArgs<>(ByteArrayCodec.INSTANCE).add("")
			.add(2)
			.addKeys(this.keys)
			.addValues(this.args);
		assertThat(sent(givenUp)).isEqualTo(sent(nothing));
	}

	@Test
	@DisplayName("logs and traces have the keys and no token")
	void doesNotShowTokens() {
		assertThat(this.arguments).asString().isEqualTo("lock:ä second").isEqualTo(this.arguments.toCommandString());
	}

	@Test
	@DisplayName("of renewals that are to last equally long, that is said once")
	void renewals() {
		Resource lock = new Resource(Kind.LOCK, "k");
		List<Renewal> alike = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, 30));
		assertThat(ScriptArguments.ofRenewals(alike, false)).containsExactly("a", "b", 30L);
		assertThat(ScriptArguments.ofRenewals(alike, true)).containsExactly("a", "b", 1, 2, 30L);
		List<Renewal> others = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, -30));
		assertThat(ScriptArguments.ofRenewals(others, false)).containsExactly("a", "b", 30L, -30L);
		assertThat(ScriptArguments.ofRenewals(others, true)).containsExactly("a", "b", 1, 2, 30L, -30L);
		assertThat(ScriptArguments.ofRenewals(alike.subList(0, 1), true)).containsExactly("a", 1, 30L);
		assertThat(ScriptArguments.ofRenewals(List.of(), true)).isEmpty();
	}

	private static String sentAs(Object... args) {
		return sent(new ScriptArguments(Script.PING.digest(), new byte[0][], args));
	}

	private static String sent(CommandArgs<byte[], byte[]> arguments) {
		ByteBuf buffer = Unpooled.buffer();
		new Command<byte[], byte[], @Nullable Object>(CommandType.EVALSHA, null, arguments).encode(buffer);
		return buffer.toString(StandardCharsets.UTF_8);
	}

}
