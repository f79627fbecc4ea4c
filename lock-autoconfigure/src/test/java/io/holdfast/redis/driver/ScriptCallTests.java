package io.holdfast.redis.driver;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.Script;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

/**
 * Life of a call: its command is written, answered or given up.
 */
class ScriptCallTests {

	private final ScriptExecutor executor = mock(ScriptExecutor.class);

	private final ScriptCall<Object> call = call((reply) -> reply.number(0));

	@Test
	@DisplayName("A command that was given up is written without its script, if the driver writes it at all")
	void givenUp() {
		assertThat(written(this.call))
			.isEqualTo("*5\r\n$7\r\nEVALSHA\r\n$40\r\n" + new String(Script.PING.digest(), StandardCharsets.US_ASCII)
					+ "\r\n$1\r\n0\r\n$1\r\na\r\n$1\r\nb\r\n");
		this.call.cancel(true);
		assertThat(written(this.call)).isEqualTo("*3\r\n$7\r\nEVALSHA\r\n$0\r\n\r\n$1\r\n0\r\n");
	}

	@Test
	@DisplayName("A written command may have run, unless its only copy was answered with an unknown script")
	void mayRun() {
		assertThat(this.call.isWritten()).isFalse();
		written(this.call);
		assertThat(this.call.isWritten()).isTrue();
		ScriptCall<Object> unknown = call((reply) -> 1);
		written(unknown);
		answerUnknown(unknown);
		assertThat(unknown.isWritten()).isFalse();
		ScriptCall<Object> repeated = call((reply) -> 1);
		written(repeated);
		written(repeated);
		answerUnknown(repeated);
		assertThat(repeated.isWritten()).isTrue();
	}

	private static void answerUnknown(ScriptCall<?> call) {
		call.getOutput().setError(ByteBuffer.wrap("NOSCRIPT No matching script".getBytes()));
		call.complete();
	}

	@Test
	@DisplayName("A cancelled call first gives up its command, then completes its dependents, and its answer is not"
			+ " read")
	void givesUpCommandFirst() {
		ScriptCall<Object> reading = call((reply) -> {
			throw new AssertionError("read");
		});
		CompletableFuture<String> seen = reading.handle((reply, error) -> written(reading));
		assertThat(reading.cancel(true)).isTrue();
		assertThat(seen.join()).doesNotContain("$40");
		answer(reading, 1);
		assertThat(reading).isCancelled();
	}

	@Test
	@DisplayName("A command that the driver cancels fails the call")
	void failsWhenDriverCancels() {
		this.call.cancel();
		assertThat(this.call).isCompletedExceptionally();
		assertThat(this.call.isCancelled()).isFalse();
	}

	@Test
	@DisplayName("A command that is written again may have run before, and a partial first answer does not count")
	void repeated() {
		Function<ScriptReply, Object> reader = (reply) -> List.of(reply.size(), reply.number(0), reply.isRepeated(),
				reply.isLate());
		ScriptCall<Object> once = call(reader);
		written(once);
		answer(once, 1);
		assertThat(once).isCompletedWithValue(List.of(1, 1L, false, false));
		ScriptCall<Object> twice = call(reader);
		written(twice);
		twice.getOutput().multi(2);
		twice.getOutput().set(7);
		written(twice);
		answer(twice, 1);
		assertThat(twice).isCompletedWithValue(List.of(1, 1L, true, false));
	}

	@Test
	@DisplayName("An error of Redis fails the call, without the quoted arguments")
	void error() {
		this.call.getOutput().setError(ByteBuffer.wrap("ERR 0123456789abcdef0123456789abcdef:7".getBytes()));
		this.call.complete();
		assertThat(this.call.handle((reply, error) -> error.getCause().getMessage()).join()).isEqualTo("ERR <id>:7");
	}

	@Test
	@DisplayName("A reply that cannot be read fails the call")
	void failsOnStrangeReply() {
		this.call.complete();
		assertThat(this.call).isCompletedExceptionally();
	}

	@Test
	@DisplayName("The driver gets the first key, for the node of a cluster and for logs, and no token")
	void arguments() {
		ScriptCall<Object> keyed = new ScriptCall<>(this.executor, Script.PING, RedisKeys.bytes("lock:ä", "second"),
				new Object[] { "secret token" }, "ping", (reply) -> "");
		assertThat(keyed.getArgs().getFirstEncodedKey()).isEqualTo(ByteBuffer.wrap(RedisKeys.bytes("lock:ä")));
		assertThat(keyed.getArgs()).asString().doesNotContain("token");
		assertThat(keyed.getArgs().toCommandString()).contains("lock:ä").doesNotContain("token");
		assertThat(this.call.getArgs().getFirstEncodedKey()).isNull();
	}

	private ScriptCall<Object> call(Function<ScriptReply, Object> reader) {
		return new ScriptCall<>(this.executor, Script.PING, new byte[0][], new Object[] { "a", "b" }, "ping", reader);
	}

	private static String written(ScriptCall<?> call) {
		ByteBuf buffer = Unpooled.buffer();
		call.encode(buffer);
		return buffer.toString(StandardCharsets.UTF_8);
	}

	private static void answer(ScriptCall<?> call, long number) {
		call.getOutput().set(number);
		call.complete();
	}

}
