package io.holdfast.redis.script;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What giving up a call means.
 */
class ScriptCallTests {

	private final CompletableFuture<List<?>> command = new CompletableFuture<>();

	private final ScriptCall<Object> call = new ScriptCall<>(Script.PING, new byte[0][], new byte[0][],
			(reply) -> reply.get(0), (error) -> new IllegalStateException(error));

	@Test
	@DisplayName("a call that was given up is not sent")
	void isNotSentWhenGivenUp() {
		this.call.cancel(true);
		assertThat(this.call.send(() -> this.command)).isNull();
	}

	@Test
	@DisplayName("giving a call up gives the command up, before anything that depends on the call is done")
	void givesUpCommandFirst() {
		this.call.send(() -> this.command);
		CompletableFuture<Boolean> seen = this.call.handle((reply, error) -> this.command.isCancelled());
		assertThat(this.call.cancel(true)).isTrue();
		assertThat(seen).isCompletedWithValue(true);
		assertThat(this.call).isCancelled();
	}

	@Test
	@DisplayName("a command that the driver cancels by itself fails the call")
	void failsWhenDriverCancels() {
		CompletableFuture<List<?>> sent = this.call.send(() -> this.command);
		sent.whenComplete((reply, error) -> this.call.fail(error));
		this.command.cancel(true);
		assertThat(this.call).isCompletedExceptionally();
		assertThat(this.call.isCancelled()).isFalse();
	}

	@Test
	@DisplayName("a reply that is not understood fails the call")
	void failsOnStrangeReply() {
		this.call.succeed(List.of());
		assertThat(this.call).isCompletedExceptionally();
	}

	@Test
	@DisplayName("an error while the command is sent, or its reply is read, fails the call")
	void failsOnError() {
		CompletableFuture<Object> sent = this.call.send(() -> {
			throw new StackOverflowError();
		});
		assertThat(sent).isCompletedExceptionally();
		ScriptCall<Object> reading = new ScriptCall<>(Script.PING, new byte[0][], new byte[0][], (reply) -> {
			throw new StackOverflowError();
		}, (error) -> new IllegalStateException(error));
		reading.succeed(List.of());
		assertThat(reading).isCompletedExceptionally();
	}

}
