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
 * What Redis quotes of the arguments of a command that it does not have: tokens, ids and
 * scripts, which would let others release what is held.
 */
class SecretTests extends RedisTestCase {

	@ParameterizedTest
	@ValueSource(strings = { "SUBSCRIBE", "INFO" })
	@DisplayName("Neither exceptions nor logs nor health tell what Redis quotes of a command that it does not have")
	void notTold(String command) {
		RedisServer server = this.redis.startServer("--rename-command", command, "not-" + command);
		List<String> told = new ArrayList<>();
		try (Fleet fleet = Fleet.on(this.redis, server); LogLines lines = new LogLines()) {
			Instance instance = fleet.start();
			LeaseEngine engine = instance.engine();
			Object context = Objects.requireNonNull(ReflectionTestUtils.getField(engine, "context"));
			String id = String.valueOf(ReflectionTestUtils.getField(context, "instanceId"));
			for (LockRequest request : List.of(LockRequest.of("a").waitTime(Duration.ZERO), LockRequest.of("b"))) {
				tell(told, () -> instance.locks().acquire(request).close());
			}
			tell(told, () -> instance.locks().status("a"));
			tell(told, () -> instance.semaphores().admin().setLimit("a", 3));
			tell(told,
					() -> engine.examine()
						.orTimeout(10, TimeUnit.SECONDS)
						.join()
						.forEach((finding) -> told.add(finding.text())));
			if (command.equals("SUBSCRIBE")) {
				await("word of the subscription").atMost(SOON).until(() -> engine.status().trouble() != null);
			}
			told.add(String.valueOf(engine.status().trouble()));
			told.addAll(lines.all());
			assertThat(told).allSatisfy((text) -> assertThat(text).doesNotContain(id.substring(0, 16)));
			assertNoArguments(told, command);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "EVALSHA", "EVAL" })
	@DisplayName("Nor does the refusal of a start, where Redis runs no scripts")
	void notToldByRefusal(String command) {
		RedisServer server = this.redis.startServer("--rename-command", command, "not-" + command);
		try (Fleet fleet = Fleet.on(this.redis, server); LogLines lines = new LogLines()) {
			List<String> told = new ArrayList<>();
			for (Throwable each = catchThrowable(fleet::start); each != null; each = each.getCause()) {
				told.add(String.valueOf(each.getMessage()));
			}
			assertThat(told).isNotEmpty();
			told.addAll(lines.all());
			assertNoArguments(told, command);
		}
	}

	private static void assertNoArguments(List<String> told, String command) {
		assertThat(String.join("\n", told)).as("all that is told").containsIgnoringCase(command);
		assertThat(told).allSatisfy((text) -> assertThat(text).doesNotContain("redis.call")
			.doesNotContain("with args")
			.doesNotContainPattern("[0-9a-f]{16}"));
	}

	private static void tell(List<String> told, Runnable action) {
		try {
			action.run();
		}
		catch (HoldfastException | CompletionException ex) {
			for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
				told.add(cause.toString());
			}
		}
	}

}
