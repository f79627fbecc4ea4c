package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;

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

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The bytes of a script's command.
 */
class ScriptTests {

	@Test
	@DisplayName("A command consists of the script, the number of keys, the keys and the arguments")
	void sameAsTheDriver() {
		byte[][] keys = RedisKeys.bytes("lock:ä", "second");
		String[] args = { "secret token", "", "x".repeat(12_345) };
		assertThat(sent(false, keys, args))
			.isEqualTo(byTheDriver(CommandType.EVALSHA, Script.PING.digest(), keys, RedisKeys.bytes(args)));
		assertThat(sent(true, keys, args))
			.isEqualTo(byTheDriver(CommandType.EVAL, Script.PING.text(), keys, RedisKeys.bytes(args)));
	}

	private static String byTheDriver(CommandType type, byte[] script, byte[][] keys, byte[][] args) {
		CommandArgs<byte[], byte[]> usual = new CommandArgs<>(ByteArrayCodec.INSTANCE).add(script)
			.add(keys.length)
			.addKeys(keys)
			.addValues(args);
		ByteBuf buffer = Unpooled.buffer();
		new Command<byte[], byte[], @Nullable Object>(type, null, usual).encode(buffer);
		return buffer.toString(StandardCharsets.UTF_8);
	}

	@Test
	@DisplayName("Texts, numbers and flags are written as their bytes")
	void anything() {
		String bytes = "\u0001\u0000ä";
		assertThat(sentAs("ä", 9, 10, 1099, Long.MAX_VALUE, -1, Long.MIN_VALUE, true, false, bytes))
			.isEqualTo(byTheDriver(CommandType.EVALSHA, Script.PING.digest(), new byte[0][], RedisKeys.bytes("ä", "9",
					"10", "1099", "" + Long.MAX_VALUE, "-1", "" + Long.MIN_VALUE, "1", "0", bytes)));
	}

	private static String sentAs(Object... args) {
		return sent(false, new byte[0][], args);
	}

	private static String sent(boolean withText, byte[][] keys, Object[] args) {
		ByteBuf buffer = Unpooled.buffer();
		Script.PING.writeCall(withText, keys, args, buffer);
		return buffer.toString(StandardCharsets.UTF_8);
	}

}
