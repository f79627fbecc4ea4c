package io.holdfast.faults;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

import io.holdfast.LeaseStoreException;
import io.holdfast.actuate.HoldfastHealthIndicator;
import io.holdfast.testing.CommandProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Services with less than a full Redis: a missing feature is named at the start, with a
 * cure, and is not used partly.
 */
@ExtendWith(OutputCaptureExtension.class)
class RestrictedServiceTests extends RedisTestCase {

	/** A call with a key outside of KEYS. */
	private static final Pattern BY_NAME = Pattern.compile("redis\\.p?call\\('(?!TIME|PUBLISH)\\w+', (?!KEYS\\[)");

	/** A function that refuses other arguments. */
	private static final String OF_NUMBERS = "(function(...) for _, v in ipairs({...}) do"
			+ " if type(v) ~= 'number' then error('a text for math.$1') end end return math.$1(...) end)(";

	@ParameterizedTest
	@ValueSource(strings = { "", "renamed" })
	@DisplayName("Without EVAL an application does not start, and the message names the reason")
	void noScripts(String name) {
		RedisServer server = this.redis.startServer("--rename-command", "EVAL", name, "--rename-command", "EVALSHA",
				name.isEmpty() ? "" : name + "-too");
		try (Fleet fleet = Fleet.on(this.redis, server)) {
			assertThat(TestApplication.refusal(fleet::start)).rootCause()
				.hasMessageContaining("This Redis runs no Lua scripts")
				.hasMessageContainingAll("unknown command", "EVALSHA")
				.hasMessageContaining("Use a Redis or a service that has the commands EVAL and EVALSHA");
			assertThat(fleet.observer().keys("*")).isEmpty();
		}
	}

	@Test
	@DisplayName("Without the Lua module, as with some Valkey servers, an application does not start, and the message"
			+ " names the reason")
	void noLua() throws IOException {
		RedisServer server = this.redis.startServer();
		UnaryOperator<List<String>> rule = CommandProxy
			.ofScripts((words) -> CommandProxy.error("ERR Could not find scripting engine 'lua'"));
		try (CommandProxy service = new CommandProxy(server.host(), server.port(), rule);
				Fleet fleet = Fleet.on(this.redis, server)) {
			assertThat(TestApplication.refusal(() -> fleet.start("spring.data.redis.port=" + service.port())))
				.rootCause()
				.hasMessageContaining("This Redis runs no Lua scripts")
				.hasMessageContaining("Could not find scripting engine 'lua'")
				.hasMessageContaining("with Valkey: its module lua");
			assertThat(fleet.observer().keys("*")).isEmpty();
		}
	}

	@Test
	@DisplayName("Where a service rejects the keys of the scripts, an application does not start, and the message"
			+ " names the reason")
	void styleOfScripts() throws IOException {
		RedisServer server = this.redis.startServer();
		UnaryOperator<List<String>> rule = CommandProxy.ofScripts((words) -> {
			if (words.get(2).equals("0")) {
				return CommandProxy
					.error("ERR for redis cluster, eval/evalsha number of keys can't be negative or zero");
			}
			return BY_NAME.matcher(words.get(1)).find() ? CommandProxy.error("ERR bad lua script for redis cluster, all"
					+ " the keys that the script uses should be passed using the KEYS array") : words;
		});
		try (CommandProxy service = new CommandProxy(server.host(), server.port(), rule);
				Fleet fleet = Fleet.on(this.redis, server)) {
			assertThat(TestApplication.refusal(() -> fleet.start("spring.data.redis.port=" + service.port())))
				.rootCause()
				.hasMessageContaining("checks how Lua scripts are written, and refuses those of Holdfast")
				.hasMessageContaining("bad lua script")
				.hasMessageContaining("script_check_enable 0");
			assertThat(fleet.observer().keys("*")).isEmpty();
		}
	}

	@Test
	@DisplayName("Without INFO in scripts, a fail-over grace is reported as impossible, and no lease is granted")
	void noInfoInScripts(CapturedOutput output) throws IOException {
		RedisServer server = this.redis.startServer();
		// A command that no server allows in scripts.
		UnaryOperator<List<String>> rule = CommandProxy.ofScripts((words) -> {
			List<String> changed = new ArrayList<>(words);
			changed.set(1, words.get(1).replaceAll("(?i)call\\('info'", "call('subscribe'"));
			return changed;
		});
		try (CommandProxy service = new CommandProxy(server.host(), server.port(), rule);
				Fleet fleet = Fleet.on(this.redis, server)) {
			String port = "spring.data.redis.port=" + service.port();
			try (Instance without = fleet.start(port)) {
				without.acquire("key").close();
			}
			Instance instance = fleet.start(port, "holdfast.redis.fail-over-grace=true",
					"holdfast.redis.longest-lease=5s", "holdfast.lock.lease-time=5s",
					"holdfast.semaphore.lease-time=5s");
			await("a warning").atMost(SOON)
				.until(() -> output.toString()
					.contains("allow it the commands info, or set holdfast.redis.fail-over-grace to false"));
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.acquire("key"))
				.withMessageContaining("not allowed from script");
			assertThat(health(instance)).isEqualTo("DEGRADED");
			assertThat(fleet.isLocked("key")).isFalse();
		}
	}

	@Test
	@DisplayName("Without WAIT, min-replicas is reported as impossible and no lease is granted; without min-replicas"
			+ " all works")
	void noWait(CapturedOutput output) {
		RedisServer server = this.redis.startServer("--rename-command", "WAIT", "");
		try (Fleet fleet = Fleet.on(this.redis, server)) {
			Instance instance = fleet.start("holdfast.redis.min-replicas=1");
			await("a warning").atMost(SOON)
				.until(() -> output.toString()
					.contains("allow it the commands wait, or set holdfast.redis.min-replicas to 0"));
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.acquire("key"))
				.withMessageContaining("unknown command");
			assertThat(health(instance)).isEqualTo("DEGRADED");
			await("nothing left of the grant").atMost(SOON).until(() -> !fleet.isLocked("key"));
			fleet.start().acquire("key").close();
		}
	}

	@Test
	@DisplayName("With Lua 5.3 or newer, which does not convert texts to numbers, leases are granted and handed over")
	void laterLua() throws IOException {
		RedisServer server = this.redis.startServer();
		UnaryOperator<List<String>> rule = CommandProxy.ofScripts((words) -> {
			List<String> changed = new ArrayList<>(words);
			changed.set(1, words.get(1).replaceAll("math\\.(max|min)\\(", OF_NUMBERS));
			return changed;
		});
		try (CommandProxy service = new CommandProxy(server.host(), server.port(), rule);
				Fleet fleet = Fleet.on(this.redis, server)) {
			String port = "spring.data.redis.port=" + service.port();
			Claims claims = new Claims(fleet, "key", Duration.ofSeconds(5), fleet.start(port))
				.waitedForBy(fleet.start(port));
			claims.awaitRenewed();
			claims.assertHeld();
			claims.assertHandedOver();
			fleet.awaitNothingLeft();
		}
	}

	private static String health(Instance instance) {
		return new HoldfastHealthIndicator(instance.engine()).health().getStatus().getCode();
	}

}
