package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

import io.holdfast.HoldfastException;
import io.holdfast.LockRequest;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.test.util.ReflectionTestUtils;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * Arguments of an unknown command in Redis's answer: tokens, ids and scripts, which would
 * allow foreign releases.
 */
class SecretTests extends RedisTestCase {

	@ParameterizedTest
	@ValueSource(strings = { "SUBSCRIBE", "INFO" })
	@DisplayName("Exceptions, logs and health do not contain the arguments of an unknown command that Redis quotes")
	void notTold(String command) {
		RedisServer server = this.redis.startServer("--rename-command", command, "not-" + command);
		List<String> texts = new ArrayList<>();
		try (Fleet fleet = Fleet.on(this.redis, server); LogLines lines = new LogLines()) {
			Instance instance = fleet.start();
			LeaseEngine engine = instance.engine();
			Object context = Objects.requireNonNull(ReflectionTestUtils.getField(engine, "context"));
			String id = String.valueOf(ReflectionTestUtils.getField(context, "instanceId"));
			for (LockRequest request : List.of(LockRequest.of("a").waitTime(Duration.ZERO), LockRequest.of("b"))) {
				collect(texts, () -> instance.locks().acquire(request).close());
			}
			collect(texts, () -> instance.locks().status("a"));
			collect(texts, () -> instance.semaphores().admin().setLimit("a", 3));
			collect(texts,
					() -> engine.examine()
						.orTimeout(10, TimeUnit.SECONDS)
						.join()
						.forEach((finding) -> texts.add(finding.text())));
			if (command.equals("SUBSCRIBE")) {
				await("word of the subscription").atMost(SOON).until(() -> engine.status().trouble() != null);
			}
			texts.add(String.valueOf(engine.status().trouble()));
			texts.addAll(lines.all());
			assertThat(texts).allSatisfy((text) -> assertThat(text).doesNotContain(id.substring(0, 16)));
			assertNoArguments(texts, command);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "EVALSHA", "EVAL" })
	@DisplayName("The refusal of a start without scripts in Redis does not contain the arguments either")
	void notToldByRefusal(String command) {
		RedisServer server = this.redis.startServer("--rename-command", command, "not-" + command);
		try (Fleet fleet = Fleet.on(this.redis, server); LogLines lines = new LogLines()) {
			List<String> texts = new ArrayList<>();
			for (Throwable each = catchThrowable(fleet::start); each != null; each = each.getCause()) {
				texts.add(String.valueOf(each.getMessage()));
			}
			assertThat(texts).isNotEmpty();
			texts.addAll(lines.all());
			assertNoArguments(texts, command);
		}
	}

	private static void assertNoArguments(List<String> texts, String command) {
		assertThat(String.join("\n", texts)).as("all texts").containsIgnoringCase(command);
		assertThat(texts).allSatisfy((text) -> assertThat(text).doesNotContain("redis.call")
			.doesNotContain("with args")
			.doesNotContainPattern("[0-9a-f]{16}"));
	}

	private static void collect(List<String> texts, Runnable action) {
		try {
			action.run();
		}
		catch (HoldfastException | CompletionException ex) {
			for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
				texts.add(cause.toString());
			}
		}
	}

}
