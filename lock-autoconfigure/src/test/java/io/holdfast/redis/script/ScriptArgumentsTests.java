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

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What is sent to Redis for a script.
 */
class ScriptArgumentsTests {

	private final byte[][] keys = RedisKeys.bytes("lock:ä", "second");

	private final byte[][] args = RedisKeys.bytes("secret token", "", "x".repeat(12_345));

	private final ScriptArguments arguments = new ScriptArguments(Script.INSPECT.digest(), this.keys, this.args);

	@Test
	@DisplayName("what is sent is the script, the count of its keys, these, and its arguments")
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
	@DisplayName("texts, flags and times are written as their bytes; bytes as they are")
	void anything() {
		String bytes = "\u0001\u0000ä";
		assertThat(sentAs("ä", 9, 10, 1099, Long.MAX_VALUE, -1, Long.MIN_VALUE, true, false, Duration.ofSeconds(2),
				RedisKeys.bytes(bytes)))
			.isEqualTo(sentAs((Object[]) RedisKeys.bytes("ä", "9", "10", "1099", "" + Long.MAX_VALUE, "-1",
					"" + Long.MIN_VALUE, "1", "0", "2000", bytes)));
	}

	@Test
	@DisplayName("logs and traces have the keys and no token")
	void doesNotShowTokens() {
		assertThat(this.arguments).asString().isEqualTo("lock:ä second").isEqualTo(this.arguments.toCommandString());
	}

	@Test
	@DisplayName("of renewals that are to last equally long, that is said once; a reader is told by its entry")
	void renewals() {
		Resource lock = new Resource(Kind.LOCK, "k");
		List<Renewal> alike = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, 30));
		assertThat(ScriptArguments.ofRenewals(alike, false)).containsExactly("a:r", "b", 30L);
		assertThat(ScriptArguments.ofRenewals(alike, true)).containsExactly("a:1", "b:2", 30L);
		List<Renewal> others = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, -30));
		assertThat(ScriptArguments.ofRenewals(others, false)).containsExactly("a:r", "b", 30L, -30L);
		assertThat(ScriptArguments.ofRenewals(others, true)).containsExactly("a:1", "b:2", 30L, -30L);
		assertThat(ScriptArguments.ofRenewals(alike.subList(0, 1), true)).containsExactly("a:1", 30L);
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
